//! What the base has on a provider that the resource takes away goes with it, which is said: the server
//! would exit at its start, or answer the first request with an error.

use super::draft::{Draft, RemovedProvider, entry_id};
use super::integrity;
use super::registered::{KINDS, ResourceKind};
use crate::problems::Reason;
use crate::releases::api_name;
use crate::server::substitution::EffectiveId;
use llsd_yaml::document::Node;

/// Judges what is left once all providers of the resource are in their places. An external provider may
/// have the id of one that was taken away, and then serves what that one did.
pub(super) fn settle(draft: &mut Draft<'_>) {
    let removed = draft.removed.clone();
    for gone in &removed {
        if draft.provider(&gone.api, &gone.id).is_none() {
            refuse_the_last(draft, gone);
            warn_of_what_goes(draft, gone);
        }
    }
    if !removed.is_empty() {
        integrity::drop_dangling(draft);
    }
}

/// An API is switched off in `disabled`, with all that needs it.
fn refuse_the_last(draft: &mut Draft<'_>, gone: &RemovedProvider) {
    let RemovedProvider { api, id, path, was_active } = gone;
    let mut left = draft.providers(api).iter().filter_map(entry_id);
    if !was_active || left.any(|own| draft.variables.admit(&own)) {
        return;
    }
    let field = api_name::in_resource(api);
    draft.findings.problem(
        path,
        Reason::Required,
        format!("without `{id}` nothing provides {api}"),
        format!("add another provider under providers.{field}, or add {field} to disabled"),
    );
}

fn warn_of_what_goes(draft: &mut Draft<'_>, gone: &RemovedProvider) {
    let goes = on_provider(draft, gone);
    if !goes.is_empty() {
        draft.findings.warning(
            &gone.path,
            Reason::Ignored,
            format!("takes away what the base has on `{}`, too: {}", gone.id, goes.join("; ")),
            "register what you need of it under resources, with another provider",
        );
    }
}

/// What of the base names the provider: registered resources, and defaults.
fn on_provider(draft: &Draft<'_>, gone: &RemovedProvider) -> Vec<String> {
    let names = |node: &Node, key: &str| effective(node.get_str(key)).as_deref() == Some(&gone.id);
    let mut goes = Vec::new();
    let kinds = KINDS.iter().filter(|kind| kind.api == gone.api && kind.list != "benchmarks");
    for ResourceKind { list, id, .. } in kinds {
        let on_it = draft.registered_now(list).iter().filter(|entry| names(entry, "provider_id"));
        let ids: Vec<String> =
            on_it.filter_map(|entry| entry.get_str(id).map(str::to_owned)).collect();
        let default = draft.document.at(&["safety", "default_shield_id"]).and_then(Node::as_str);
        if *list == "shields" && effective(default).is_some_and(|default| ids.contains(&default)) {
            goes.push("safety.default_shield_id".to_owned());
        }
        if !ids.is_empty() {
            goes.push(format!("{list} {}", ids.join(", ")));
        }
    }
    let Some(section) = draft.document.get("vector_stores") else { return goes };
    if gone.api == "vector_io" && names(section, "default_provider_id") {
        goes.push("vector_stores.default_provider_id".to_owned());
    }
    let fields = section.fields().iter().filter(|_| gone.api == "inference");
    goes.extend(
        fields
            .filter(|(_, field)| {
                names(field, "provider_id")
                    || field.get("model").is_some_and(|model| names(model, "provider_id"))
            })
            .map(|(name, _)| format!("vector_stores.{name}")),
    );
    goes
}

fn effective(written: Option<&str>) -> Option<String> {
    EffectiveId::parse(written?, "").map(|own| own.id)
}
