//! How much the generated file configures, for the status: entries whose variable nothing sets are
//! not there when the server runs, so they do not count.

use super::draft::{Draft, entry_id};
use super::substitution::EffectiveId;
use crate::document::Node;

/// Entries of the generated file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub providers: usize,
    /// Registered resources of every kind, models among them.
    pub resources: usize,
    pub models: usize,
}

const KINDS: [(&str, &str); 8] = [
    ("models", "model_id"),
    ("shields", "shield_id"),
    ("vector_stores", "vector_store_id"),
    ("vector_dbs", "vector_db_id"),
    ("tool_groups", "toolgroup_id"),
    ("datasets", "dataset_id"),
    ("scoring_fns", "scoring_fn_id"),
    ("benchmarks", "benchmark_id"),
];

pub(super) fn count(draft: &Draft<'_>) -> Counts {
    let mut counts = Counts::default();
    for api in draft.provider_apis() {
        let entries = draft.providers(&api).iter().filter_map(entry_id);
        counts.providers += entries.filter(|id| draft.variables.admit(id)).count();
    }
    for (kind, key) in KINDS {
        let entries = draft.registered_now(kind);
        let number = entries.iter().filter(|entry| is_there(draft, entry, key)).count();
        counts.resources += number;
        if kind == "models" {
            counts.models = number;
        }
    }
    counts.resources += draft.document.get("connectors").map_or(0, |list| list.items().len());
    counts
}

fn is_there(draft: &Draft<'_>, entry: &Node, key: &str) -> bool {
    [key, "provider_id"].into_iter().filter_map(|key| entry.get(key)).all(|node| {
        node.as_str()
            .and_then(|id| EffectiveId::of(id, ""))
            .is_some_and(|id| draft.variables.admit(&id))
    })
}
