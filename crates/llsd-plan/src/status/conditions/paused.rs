//! `Paused`: nothing is written for the resource, because its annotation asks for that.

use super::super::stage::Stage;
use super::super::vocabulary::{ConditionReason, ConditionType, Truth};
use super::statement::Assessment;
use crate::resource::PAUSED;

pub(super) fn paused(stage: &Stage<'_>) -> Option<Assessment> {
    let Stage::Paused { change_waits } = stage else { return None };
    let waits = if *change_waits { "; a change of it waits" } else { "" };
    let message = format!(
        "The annotation {PAUSED} asks that nothing is written for the resource but its status{waits}"
    );
    Some(Assessment::new(ConditionType::Paused, Truth::True, ConditionReason::Paused, message))
}
