//! How much the generated file configures, for the status: entries whose variable nothing sets are
//! not there when the server runs, so they do not count.

use super::draft::{Draft, entry_id};
use super::registered::KINDS;
use crate::document::Node;
use crate::substitution::EffectiveId;

/// Entries of the generated file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub providers: usize,
    /// Registered resources of every kind, models among them.
    pub resources: usize,
    pub models: usize,
}

pub(super) fn count(draft: &Draft<'_>) -> Counts {
    let mut counts = Counts::default();
    for api in draft.provider_apis() {
        let entries = draft.providers(&api).iter().filter_map(entry_id);
        counts.providers += entries.filter(|id| draft.variables.admit(id)).count();
    }
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
            .and_then(|id| EffectiveId::of(id, ""))
            .is_some_and(|id| draft.variables.admit(&id))
    })
}
