//! `Contended`: two installations of the operator manage the resource. The one that leaves it alone says so, and
//! the other one leaves that in the status for as long as it may hold.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::super::previous::Previous;
use super::super::vocabulary::{ConditionReason, ConditionType, Truth};
use super::statement::Assessment;
use crate::rollout::{Contention, LEFT_ALONE};

/// What the installation says that leaves the resource alone; all else is not its to say.
pub(super) fn contended(contention: &Contention) -> Vec<Assessment> {
    let Contention { own, other, .. } = contention;
    let message = format!(
        "Two installations of the operator manage this resource: the one with the key {other} took it over from \
         the one with the key {own}, which leaves it alone for ten minutes. Keep one installation, or give each \
         its own namespaces"
    );
    let others = ConditionType::ALL.iter().filter(|known| **known != ConditionType::Contended);
    let mut assessments: Vec<_> = others.map(|known| Assessment::AsBefore(*known)).collect();
    assessments.push(Assessment::new(
        ConditionType::Contended,
        Truth::True,
        ConditionReason::TakenOver,
        message,
    ));
    assessments
}

/// What another installation says of this one.
pub(super) fn told_by_another(previous: &Previous, now: &Time) -> Option<Assessment> {
    let told = previous.condition(ConditionType::Contended)?;
    let age = now.0.as_second() - told.last_transition_time.0.as_second();
    (age < LEFT_ALONE).then_some(Assessment::AsBefore(ConditionType::Contended))
}
