//! Every condition as it holds now, each in the file of what it speaks of. When it began to hold is
//! told elsewhere, from the status before.

pub(super) mod config;
mod deployment;
mod ready;
pub(super) mod secrets;
mod server;
mod update_pending;

use super::hindrance::Hindrance;
use super::observed::Observed;
use super::previous::Previous;
use super::rollout::Rollout;
use super::verdict::Verdict;
use super::words::{ConditionReason, ConditionType, Truth};

/// What is said of one condition.
#[derive(Clone, Debug)]
pub(super) enum Said {
    Now(Statement),
    /// Nothing new is known; what the status said before still stands.
    AsBefore(ConditionType),
}

#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub(super) condition: ConditionType,
    pub(super) truth: Truth,
    pub(super) reason: ConditionReason,
    pub(super) message: String,
}

impl Statement {
    fn new(
        condition: ConditionType,
        truth: Truth,
        reason: ConditionReason,
        message: impl Into<String>,
    ) -> Self {
        Self { condition, truth, reason, message: message.into() }
    }
}

/// Everything that can be said, in the order in which it is listed.
pub(super) fn all(
    observed: &Observed<'_>,
    verdict: &Verdict<'_>,
    rollout: &Rollout,
    hindrance: Option<&Hindrance>,
    previous: &Previous,
) -> Vec<Said> {
    let mut said = vec![Said::Now(ready::ready(hindrance))];
    said.extend(ready::reconciling(hindrance).map(Said::Now));
    said.extend(ready::stalled(hindrance).map(Said::Now));
    said.push(config::generated(verdict, observed.resource));
    said.push(secrets::resolved(verdict));
    said.push(deployment::updated(verdict, rollout));
    said.push(Said::Now(deployment::available(rollout)));
    said.push(Said::Now(deployment::ready(rollout)));
    said.push(Said::Now(server::health(observed.server)));
    said.extend(server::storage(observed.live).map(Said::Now));
    said.push(Said::Now(server::service(observed.live)));
    let pending = previous.condition(ConditionType::UpdatePending);
    said.extend(update_pending::pending(verdict, observed.newer_digest, pending));
    said
}
