//! What is known of a condition, and since when it holds. A condition keeps its time for as long as it
//! stays the same: a status that changes although nothing did would wake the operator for ever.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::super::messages::{MESSAGE_BYTES, bounded};
use super::super::situation::Situation;
use super::super::vocabulary::{ConditionReason, ConditionType, Truth};

/// What is known of one condition.
#[derive(Clone, Debug)]
pub(in super::super) enum Assessment {
    Current {
        condition: ConditionType,
        truth: Truth,
        reason: ConditionReason,
        message: String,
    },
    /// Nothing new is known; what the status had before still stands.
    AsBefore(ConditionType),
    /// What the status had before holds for the resource as it is now, too.
    StillHolds(ConditionType),
}

impl Assessment {
    pub(super) fn new(
        condition: ConditionType,
        truth: Truth,
        reason: ConditionReason,
        message: impl Into<String>,
    ) -> Self {
        Self::Current { condition, truth, reason, message: message.into() }
    }
}

/// The conditions in their order, then those of others.
pub(in super::super) fn dated(
    assessments: Vec<Assessment>,
    situation: &Situation<'_>,
) -> Vec<Condition> {
    let Situation { observed, previous, now, .. } = situation;
    let observed_generation = observed.resource.generation;
    let own = assessments.into_iter().filter_map(|assessment| match assessment {
        Assessment::Current { condition, truth, reason, message } => {
            let status = truth.as_str();
            let same = previous.condition(condition).filter(|before| before.status == status);
            Some(Condition {
                type_: condition.as_str().to_owned(),
                status: status.to_owned(),
                reason: reason.as_str().to_owned(),
                message: bounded(&message, MESSAGE_BYTES),
                observed_generation,
                last_transition_time: same
                    .map_or(now, |before| &before.last_transition_time)
                    .clone(),
            })
        }
        Assessment::AsBefore(condition) => previous.condition(condition).cloned(),
        Assessment::StillHolds(condition) => {
            let before = previous.condition(condition).cloned();
            before.map(|before| Condition { observed_generation, ..before })
        }
    });
    own.chain(previous.of_others().cloned()).collect()
}
