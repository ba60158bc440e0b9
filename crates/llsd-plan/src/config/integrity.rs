//! The last look at the document: nothing may point to what is not there, because the server would
//! exit at its start, or answer its first request with an error.

use super::draft::{Draft, entry_id, has_id};
use super::providers::serve;
use super::registered::{KINDS, ResourceKind, settle_default_shield};
use crate::problems::Reason;
use crate::releases::api_name;
use crate::server::substitution::EffectiveId;
use llsd_yaml::document::{Content, Node};

pub(super) fn apply(draft: &mut Draft<'_>) {
    needs(draft);
    drop_dangling(draft);
    settle_default_shield(draft, None);
    vector_stores(draft);
}

/// A provider of the resource that needs an API which nothing serves stops the server.
fn needs(draft: &mut Draft<'_>) {
    for provider in draft.user_providers().iter() {
        let entries = draft.providers(&provider.api).iter();
        let known = entries.filter(|entry| has_id(entry, &provider.id)).find_map(|entry| {
            let known = draft.known_type(&provider.api, entry)?;
            Some((entry.get_str("provider_type")?.to_owned(), known))
        });
        let Some((name, known)) = known else { continue };
        let catalogue = draft.profile.catalogue;
        for needed in known.needs().filter(|needed| catalogue.has_api(needed)) {
            if draft.providers(needed).is_empty() {
                draft.findings.problem(
                    &provider.path,
                    Reason::Required,
                    format!("`{name}` needs the API {needed}, which nothing provides"),
                    format!("add a provider under providers.{}", api_name::in_resource(needed)),
                );
            } else {
                serve(draft, needed);
            }
        }
    }
}

/// Drops resources of the base whose provider fell with a disabled API, or was taken away.
pub(super) fn drop_dangling(draft: &mut Draft<'_>) {
    // Benchmarks stay as the base has them.
    for ResourceKind { list, api, .. } in KINDS.iter().filter(|kind| kind.list != "benchmarks") {
        let ids = provider_ids(draft, api);
        let of_all = *list == "models" && draft.profile.layout.has_provider_all;
        let dangling = |resource: &Node| {
            resource
                .get_str("provider_id")
                .and_then(|id| EffectiveId::parse(id, ""))
                .is_some_and(|id| !(ids.contains(&id.id) || of_all && id.id == "all"))
        };
        if draft.registered_now(list).iter().any(dangling) {
            draft.registered(list).retain(|resource| !dangling(resource));
        }
    }
}

/// Defaults of vector stores that name a provider which is not there.
fn vector_stores(draft: &mut Draft<'_>) {
    let (inference, vector_io) =
        (provider_ids(draft, "inference"), provider_ids(draft, "vector_io"));
    let Some(section) = draft.document.get_mut("vector_stores") else { return };
    let names = |ids: &[String], written: Option<&str>| {
        written.and_then(|id| EffectiveId::parse(id, "")).is_none_or(|id| ids.contains(&id.id))
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
