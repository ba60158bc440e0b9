//! How many resources have each condition. Only words of the vocabulary are labels, so there is a bound;
//! and what no resource shows any more is gone, so there are few.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use super::super::results::Condition;

type ConditionLabels = [(&'static str, &'static str); 3];

#[derive(Clone, Debug, Default)]
pub(super) struct Conditions {
    family: Family<ConditionLabels, Gauge>,
    shown: Arc<Mutex<BTreeMap<ConditionLabels, usize>>>,
}

impl Conditions {
    pub(super) fn family(&self) -> &Family<ConditionLabels, Gauge> {
        &self.family
    }

    /// What stays is never gone in between, whoever reads meanwhile.
    pub(super) fn set(&self, all: impl IntoIterator<Item = Condition>) {
        let mut counts = BTreeMap::<ConditionLabels, usize>::new();
        for condition in all {
            *counts.entry(labels(condition)).or_default() += 1;
        }
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        for (labels, count) in &counts {
            let count = i64::try_from(*count).unwrap_or(i64::MAX);
            self.family.get_or_create(labels).set(count);
        }
        for gone in shown.keys().filter(|labels| !counts.contains_key(*labels)) {
            self.family.remove(gone);
        }
        *shown = counts;
    }
}

fn labels(condition: Condition) -> ConditionLabels {
    let Condition { kind, truth, reason } = condition;
    [("condition", kind.as_str()), ("status", truth.name()), ("reason", reason.as_str())]
}
