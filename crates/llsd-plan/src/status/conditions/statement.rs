//! What is known of a condition, and since when it holds. A condition keeps its time for as long as it
//! stays the same: a status that changes although nothing did would wake the operator for ever.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use super::super::messages::{MESSAGE_BYTES, bounded};
use super::super::previous::Previous;
use super::super::vocabulary::{ConditionReason, ConditionType, Truth};

/// What is known of one condition.
#[derive(Clone, Debug)]
pub(in super::super) enum Assessment {
    Current(Statement),
    /// Nothing new is known; what the status had before still stands.
    AsBefore(ConditionType),
    /// What the status had before holds for the resource as it is now, too.
    StillHolds(ConditionType),
}

#[derive(Clone, Debug)]
pub(in super::super) struct Statement {
    condition: ConditionType,
    truth: Truth,
    reason: ConditionReason,
    message: String,
}

impl Statement {
    pub(super) fn new(
        condition: ConditionType,
        truth: Truth,
        reason: ConditionReason,
        message: impl Into<String>,
    ) -> Self {
        Self { condition, truth, reason, message: message.into() }
    }
}

/// The conditions in their order, then those of others.
pub(in super::super) fn dated(
    assessments: Vec<Assessment>,
    previous: &Previous,
    generation: Option<i64>,
    now: &Time,
) -> Vec<Condition> {
    let own = assessments.into_iter().filter_map(|assessment| match assessment {
        Assessment::Current(statement) => Some(condition(&statement, previous, generation, now)),
        Assessment::AsBefore(condition) => previous.condition(condition).cloned(),
        Assessment::StillHolds(condition) => previous
            .condition(condition)
            .map(|before| Condition { observed_generation: generation, ..before.clone() }),
    });
    own.chain(previous.of_others().cloned()).collect()
}

fn condition(
    statement: &Statement,
    previous: &Previous,
    generation: Option<i64>,
    now: &Time,
) -> Condition {
    let status = statement.truth.as_str();
    let same = previous.condition(statement.condition).filter(|before| before.status == status);
    Condition {
        type_: statement.condition.as_str().to_owned(),
        status: status.to_owned(),
        reason: statement.reason.as_str().to_owned(),
        message: bounded(&statement.message, MESSAGE_BYTES),
        observed_generation: generation,
        last_transition_time: same.map_or(now, |before| &before.last_transition_time).clone(),
    }
}
