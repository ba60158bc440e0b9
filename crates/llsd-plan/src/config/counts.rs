//! How much the generated file configures, for the status: entries whose variable nothing sets are
//! not there when the server runs, so they do not count.

use std::collections::BTreeSet;

use super::draft::{Draft, entry_id};
use super::registered::KINDS;
use crate::server::substitution::{self, EffectiveId};
use llsd_yaml::document::{self, Node, Origin};

/// Entries of the generated file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub providers: usize,
    /// Registered resources of every kind, models among them.
    pub resources: usize,
    pub models: usize,
}

/// A provider that the server will have when it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedProvider {
    pub api: String,
    pub id: String,
    pub kind: String,
}

pub(super) fn providers(draft: &Draft<'_>) -> Vec<PlannedProvider> {
    let of_api = |api: String| {
        let entries = draft.providers(&api).iter();
        let there = entries.filter_map(|entry| {
            let id = entry_id(entry).filter(|id| draft.variables.admit(id))?.id;
            let kind = entry.get_str("provider_type").unwrap_or_default().to_owned();
            Some(PlannedProvider { api: api.clone(), id, kind })
        });
        there.collect::<Vec<_>>()
    };
    draft.provider_apis().into_iter().flat_map(of_api).collect()
}

/// A provider of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedProvider {
    pub api: String,
    pub id: String,
    pub kind: String,
    /// The variable that switches it on, where one does.
    pub condition: Option<String>,
    /// All that it refers to.
    pub variables: BTreeSet<String>,
}

/// The providers of a whole configuration, those that are switched off by a variable among them. None of a text
/// that is not a configuration.
pub fn listed_providers(text: &str) -> Vec<ListedProvider> {
    let Ok(document) = document::read(text) else { return Vec::new() };
    let document = Node::from_value(document, &Origin::Base);
    let Some(apis) = document.get("providers") else { return Vec::new() };
    let of_api = |(api, entries): &(String, Node)| {
        let listed = entries.items().iter().filter_map(|entry| {
            let EffectiveId { id, condition } = entry_id(entry)?;
            let kind = entry.get_str("provider_type")?.to_owned();
            let mut variables = BTreeSet::new();
            substitution::variables_of(entry, &mut variables);
            Some(ListedProvider { api: api.clone(), id, kind, condition, variables })
        });
        listed.collect::<Vec<_>>()
    };
    apis.fields().iter().flat_map(of_api).collect()
}

pub(super) fn count(draft: &Draft<'_>) -> Counts {
    let mut counts = Counts { providers: providers(draft).len(), ..Counts::default() };
    for kind in &KINDS {
        let entries = draft.registered_now(kind.list);
        let number = entries.iter().filter(|entry| is_there(draft, entry, kind.id)).count();
        counts.resources += number;
        if kind.list == "models" {
            counts.models = number;
        }
    }
    counts.resources += draft.document.get("connectors").map_or(0, |list| list.items().len());
    counts
}

fn is_there(draft: &Draft<'_>, entry: &Node, key: &str) -> bool {
    [key, "provider_id"].into_iter().filter_map(|key| entry.get(key)).all(|node| {
        node.as_str()
            .and_then(|id| EffectiveId::parse(id, ""))
            .is_some_and(|id| draft.variables.admit(&id))
    })
}
