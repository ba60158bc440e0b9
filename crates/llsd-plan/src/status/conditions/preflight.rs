//! `Preflight`: what the new image says of the last change that was checked, and the same as a record by which
//! the question is not asked again.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use llsd_api::v1alpha2::{PreflightStatus, PreflightVerdict};

use super::super::messages;
use super::super::previous::Previous;
use super::super::stage::Stage;
use super::super::vocabulary::{ConditionReason, ConditionType, Truth};
use super::statement::Assessment;
use crate::rollout::preflight::State;

pub(super) fn preflight(stage: &Stage<'_>, before: Option<&Condition>) -> Option<Assessment> {
    let condition = ConditionType::Preflight;
    if matches!(stage, Stage::Deleting) {
        return None;
    }
    if stage.applied().is_none() {
        return before.map(|_| Assessment::AsBefore(condition));
    }
    let Some(preflight) = stage.preflight() else {
        // What was refused is not asked for any more; what has passed is what runs.
        let ran = [ConditionReason::PreflightPassed, ConditionReason::PreflightSkipped];
        let before = before.filter(|before| ran.iter().any(|it| before.reason == it.as_str()));
        return before.map(|_| Assessment::StillHolds(condition));
    };
    let (truth, reason) = match &preflight.state {
        State::ToBeAsked(_) | State::Waiting(_) | State::Asking(..) => {
            (Truth::Unknown, ConditionReason::PreflightRunning)
        }
        State::Checked(checked) => match checked.verdict {
            PreflightVerdict::Good => (Truth::True, ConditionReason::PreflightPassed),
            PreflightVerdict::Refused => (Truth::False, ConditionReason::PreflightFailed),
            PreflightVerdict::NotJudged => (Truth::Unknown, ConditionReason::PreflightSkipped),
            PreflightVerdict::Pending => (Truth::Unknown, ConditionReason::PreflightRunning),
        },
    };
    let message = messages::preflight(preflight);
    Some(Assessment::new(condition, truth, reason, message))
}

/// What is remembered of it.
pub(in super::super) fn record(stage: &Stage<'_>, previous: &Previous) -> Option<PreflightStatus> {
    match stage.preflight().map(|preflight| &preflight.state) {
        Some(State::Checked(checked)) => Some(checked.clone()),
        Some(State::ToBeAsked(pending) | State::Waiting(pending) | State::Asking(_, pending)) => {
            Some((**pending).clone())
        }
        None if stage.applied().is_none() => previous.preflight.clone(),
        None => {
            let ran = [PreflightVerdict::Good, PreflightVerdict::NotJudged];
            previous.preflight.clone().filter(|known| ran.contains(&known.verdict))
        }
    }
}
