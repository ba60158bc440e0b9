//! Lays the resource's providers over the base's, by id: a provider with the id of one of the
//! base's takes its place, the others stay.

use super::type_of::{ResolvedType, resolve};
use super::{configuration, gone, removed, telemetry};
use crate::config::draft::{Draft, UserProvider, has_id};
use crate::problems::Reason;
use llsd_yaml::document::{Node, Origin};

pub(in crate::config) fn apply(draft: &mut Draft<'_>) {
    removed::find(draft);
    for provider in draft.user_providers().iter() {
        if provider.api == "telemetry" && !draft.profile.catalogue.has_api("telemetry") {
            telemetry::to_environment(draft, provider);
        } else if known_api(draft, provider) {
            merge(draft, provider);
        }
    }
    // Until now the base's entry told how its release writes others of its type.
    removed::take_away(draft);
}

/// An API that the release does not have stops the server.
fn known_api(draft: &mut Draft<'_>, provider: &UserProvider<'_>) -> bool {
    let known = draft.profile.candidates().any(|catalogue| catalogue.has_api(&provider.api));
    let (path, api) = (&provider.path, provider.api.as_str());
    if draft.profile.lacks_api(api) {
        let instead = gone::instead_of(draft.profile.releases, api);
        gone::problem(draft, api, path, &format!("remove these providers{instead}"));
    } else if !known {
        draft.findings.problem(
            path,
            Reason::NotFound,
            format!("{} has no API `{api}`", draft.profile.name()),
            "remove these providers, or use an image of a release that has the API",
        );
    }
    known
}

fn merge<'a>(draft: &mut Draft<'a>, provider: &UserProvider<'a>) {
    let types: Vec<String> = draft
        .providers(&provider.api)
        .iter()
        // Not those of the resource: a type that two of its providers have is not known by that.
        .filter(|entry| !matches!(entry.origin, Origin::Field(_)))
        .filter_map(|entry| entry.get_str("provider_type").map(str::to_owned))
        .collect();
    let resolved = resolve(
        &draft.profile,
        &provider.api,
        provider.provider,
        |name| types.iter().any(|known| known == name),
        &provider.path.key("provider"),
        &mut draft.findings,
    );
    let Some(resolved) = resolved else { return };
    let base = replaced(draft, provider, &resolved);
    let config = configuration::build(draft, provider, &resolved, base.as_ref());
    let mut entry = base.unwrap_or_else(|| Node::map(Origin::Field(provider.path.clone())));
    let id_path = provider.path.key(if provider.entry.id.is_some() { "id" } else { "provider" });
    entry.origin = Origin::Field(provider.path.clone());
    entry.set("provider_id", Node::scalar(provider.id.as_str(), Origin::Field(id_path)));
    let type_origin = Origin::Field(provider.path.key("provider"));
    entry.set("provider_type", Node::scalar(resolved.name.as_str(), type_origin));
    entry.set("config", config);
    place(draft, &provider.api, &provider.id, entry);
}

/// The base's entry that the user's one replaces, if it is of the same type: then its
/// configuration stays where the user says nothing. Of one with another type it is said: what pointed
/// to the base's one now points to this one.
fn replaced(
    draft: &mut Draft<'_>,
    provider: &UserProvider<'_>,
    resolved: &ResolvedType,
) -> Option<Node> {
    let UserProvider { api, id, path, .. } = provider;
    let base = draft.provider(api, id)?.clone();
    let old = base.get_str("provider_type")?;
    if old == resolved.name {
        return Some(base);
    }
    draft.findings.warning(
        path,
        Reason::Ignored,
        format!("takes the place of the base's {api} provider `{id}` ({old})"),
        "give it an id of its own to keep both",
    );
    None
}

/// Puts an entry in the place of the one with its id, or at the end, and switches its API on.
pub(in crate::config) fn place(draft: &mut Draft<'_>, api: &str, id: &str, entry: Node) {
    let origin = entry.origin.clone();
    let providers = draft.document.entry_map("providers", &origin);
    let entries = providers.entry_list(api, &origin);
    let same = |entry: &Node| has_id(entry, id);
    match entries.iter().position(same) {
        Some(first) => {
            entries[first] = entry;
            // Of several entries with one id the server would take the last, without a word.
            let mut index = 0;
            entries.retain(|entry| {
                index += 1;
                index - 1 <= first || !same(entry)
            });
        }
        None => entries.push(entry),
    }
    serve(draft, api);
}

/// Switches an API on; no list of them means all that have providers, and so does an empty one in
/// most releases.
pub(in crate::config) fn serve(draft: &mut Draft<'_>, api: &str) {
    let apis = draft.document.get("apis").map(Node::items).unwrap_or_default();
    let all = apis.is_empty()
        && !(draft.document.get("apis").is_some_and(|apis| !apis.is_null())
            && draft.profile.layout.serves_nothing_of_an_empty_list);
    if !all && !apis.iter().any(|name| name.as_str() == Some(api)) {
        let origin = Origin::Rule("an API with providers is served");
        draft.document.entry_list("apis", &origin).push(Node::scalar(api, origin.clone()));
    }
}
