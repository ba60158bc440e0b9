//! Statements as conditions. A condition keeps its time for as long as it says the same of itself:
//! a status that changes although nothing did would wake the operator for ever.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use super::conditions::{Said, Statement};
use super::previous::Previous;
use super::wording::{MESSAGE_BYTES, bounded};

/// The conditions in their order, then those of others.
pub(super) fn conditions(
    said: Vec<Said>,
    previous: &Previous,
    generation: Option<i64>,
    now: &Time,
) -> Vec<Condition> {
    let own = said.into_iter().filter_map(|said| match said {
        Said::Now(statement) => Some(condition(&statement, previous, generation, now)),
        Said::AsBefore(condition) => previous.condition(condition).cloned(),
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
