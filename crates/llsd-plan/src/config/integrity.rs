//! The last look at the document: nothing may point to what is not there, because the server would
//! exit at its start, or answer its first request with an error.

use super::draft::{Draft, entry_id};
use super::substitution::EffectiveId;
use crate::document::{Content, Node};

/// Which API a registered resource's provider belongs to.
const KINDS: [(&str, &str); 7] = [
    ("models", "inference"),
    ("shields", "safety"),
    ("vector_stores", "vector_io"),
    ("vector_dbs", "vector_io"),
    ("tool_groups", "tool_runtime"),
    ("datasets", "datasetio"),
    ("scoring_fns", "scoring"),
];

pub(super) fn apply(draft: &mut Draft<'_>) {
    resources(draft);
    vector_stores(draft);
}

/// Resources of the base whose provider fell with a disabled API.
fn resources(draft: &mut Draft<'_>) {
    for (kind, api) in KINDS {
        let ids = provider_ids(draft, api);
        let dangling = |resource: &Node| {
            resource
                .get_str("provider_id")
                .and_then(|id| EffectiveId::of(id, ""))
                .is_some_and(|id| !ids.contains(&id.id))
        };
        if draft.registered_now(kind).iter().any(dangling) {
            draft.registered(kind).retain(|resource| !dangling(resource));
        }
    }
}

/// Defaults of vector stores that name a provider which is not there.
fn vector_stores(draft: &mut Draft<'_>) {
    let (inference, vector_io) =
        (provider_ids(draft, "inference"), provider_ids(draft, "vector_io"));
    let Some(section) = draft.document.get_mut("vector_stores") else { return };
    let names = |ids: &[String], written: Option<&str>| {
        written.and_then(|id| EffectiveId::of(id, "")).is_none_or(|id| ids.contains(&id.id))
    };
    if !names(&vector_io, section.get_str("default_provider_id")) {
        section.remove("default_provider_id");
    }
    let Content::Map(fields) = &mut section.content else { return };
    fields.retain(|(_, field)| names(&inference, field.get_str("provider_id")));
    for (_, field) in fields.iter_mut() {
        if field.get("model").is_some_and(|model| !names(&inference, model.get_str("provider_id")))
        {
            field.remove("model");
        }
    }
}

fn provider_ids(draft: &Draft<'_>, api: &str) -> Vec<String> {
    draft.providers(api).iter().filter_map(entry_id).map(|id| id.id).collect()
}
