//! `Paused`: nothing is written for the resource, because its annotation asks for that; and what waits.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::super::stage::Stage;
use super::super::vocabulary::{ConditionReason, ConditionType, Truth};
use super::statement::Assessment;
use crate::resource::PAUSED;
use crate::resource::template_inputs::SPEC;

pub(super) fn paused(
    stage: &Stage<'_>,
    before: Option<&Condition>,
    generation: Option<i64>,
) -> Option<Assessment> {
    let Stage::Paused { change_waits, inputs } = stage else { return None };
    let condition = ConditionType::Paused;
    if inputs.is_none() && before.is_some_and(|before| before.observed_generation == generation) {
        // What cannot be looked at now waits as it did.
        return Some(Assessment::AsBefore(condition));
    }
    // A spec that was refused or rolled back does not wait for the end of the pause.
    let spec = change_waits.then_some(SPEC);
    let others = inputs.unwrap_or_default().iter().map(String::as_str);
    let waits: Vec<&str> = spec.into_iter().chain(others.filter(|input| *input != SPEC)).collect();
    let mut message = format!(
        "The annotation {PAUSED} asks that nothing is written for the resource but its status"
    );
    if !waits.is_empty() {
        message += "; what waits: ";
        message += &waits.join(", ");
    }
    Some(Assessment::new(condition, Truth::True, ConditionReason::Paused, message))
}
