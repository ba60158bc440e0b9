//! What ended with llama-stack and is not in OGX: the APIs that would stop the server, and the stores
//! that providers of the base keep their state in under other names there.

use crate::config::draft::Draft;
use crate::config::storage::companion;
use crate::problems::{FieldPath, Reason};
use crate::releases::api_name;
use crate::releases::{Releases, ServerFamily};
use llsd_yaml::document::{Node, Origin};

/// Looks at the base, once everything that the resource switches off is out of it.
pub(in crate::config) fn apply(draft: &mut Draft<'_>) {
    if draft.profile.server() != ServerFamily::Ogx {
        return;
    }
    let listed = draft.document.get("apis").map(Node::items).unwrap_or_default();
    let listed = listed.iter().filter_map(|api| api.as_str().map(str::to_owned));
    let mut apis: Vec<String> = listed.chain(draft.provider_apis()).collect();
    apis.sort();
    apis.dedup();
    let (profile, users) = (draft.profile, draft.user_providers());
    for api in apis.iter().filter(|api| profile.lacks_api(api)) {
        // A provider of the resource was refused already.
        if users.iter().all(|user| user.api != *api) {
            let remedy = format!(
                "add {} to spec.disabled, or use an image whose configuration is of OGX",
                api_name::in_resource(api)
            );
            problem(draft, api, &FieldPath::spec().key("distribution"), &remedy);
        }
    }
    fill_stores(draft);
}

/// A problem that names an API which is gone.
pub(super) fn problem(draft: &mut Draft<'_>, api: &str, path: &FieldPath, remedy: &str) {
    let message = format!(
        "{} has no API `{api}`, which ended with {}, and does not start with it",
        draft.profile.name(),
        last_of_llama_stack(draft.profile.releases)
    );
    draft.findings.problem(path, Reason::NotFound, message, remedy);
}

/// What a user of a gone API can do.
pub(in crate::config) fn instead_of(releases: &'static Releases, api: &str) -> String {
    let also = match api {
        "safety" => {
            "; OGX asks a moderation service instead, settings.moderation_endpoint of providers.responses"
        }
        _ => "",
    };
    format!(", or use an image of {}{also}", last_of_llama_stack(releases))
}

/// `llama-stack 0.7`
pub(in crate::config) fn last_of_llama_stack(releases: &'static Releases) -> String {
    format!("llama-stack {}", releases.newest(ServerFamily::LlamaStack).minor_version())
}

/// Stores that a provider of the base cannot do without, such as `sqlstore` of batches, which is
/// called `kvstore` in a file for 0.7.
fn fill_stores(draft: &mut Draft<'_>) {
    let mut missing = Vec::new();
    for api in draft.provider_apis() {
        for (index, entry) in draft.providers(&api).iter().enumerate() {
            let Some(known) = draft.known_type(&api, entry) else { continue };
            let required = known.required();
            let filled = required.filter_map(|field| known.fill().find(|(own, _)| *own == field));
            for (field, value) in filled {
                if entry.at(&["config", field]).is_none_or(Node::is_null) {
                    let value = companion(draft, value, None);
                    missing.push((api.clone(), index, field, value));
                }
            }
        }
    }
    let origin = Origin::Rule("the provider needs it");
    for (api, index, field, value) in missing {
        let entries = draft.document.entry_map("providers", &origin).entry_list(&api, &origin);
        if let Some(entry) = entries.get_mut(index) {
            let value = Node::from_value(value, &origin);
            entry.entry_map("config", &origin).set(field, value);
        }
    }
}
