//! `AccessLimited`: what the operator cannot do for the resource, with the role that lacks a right. It
//! decides nothing by itself: where the server suffers, `Ready` says so too.

use super::super::messages;
use super::super::observed::{Limitation, StatusInputs};
use super::super::stage::Stage;
use super::super::vocabulary::{ConditionReason, ConditionType, Truth};
use super::statement::Assessment;
use crate::rollout::Refused;

pub(super) fn limited(observed: &StatusInputs<'_>, stage: &Stage<'_>) -> Option<Assessment> {
    if matches!(stage, Stage::Deleting) {
        return None;
    }
    let mut limitations = observed.limitations.to_vec();
    if let Stage::NotWritten(_, failure) = stage
        && failure.refused == Refused::Forbidden
    {
        limitations.push(Limitation::Forbidden(failure.message.to_owned()));
    }
    // Rights first; and in one order whichever came first.
    limitations.sort();
    limitations.dedup();
    let reason = match limitations.first()? {
        Limitation::Forbidden(_) => ConditionReason::Forbidden,
        Limitation::NotWatched(_) => ConditionReason::NotWatched,
    };
    let message = messages::limitations(&limitations);
    Some(Assessment::new(ConditionType::AccessLimited, Truth::True, reason, message))
}
