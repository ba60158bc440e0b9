//! `Ready`, `Reconciling` and `Stalled`, which tools that wait for a resource read (kstatus): one of
//! the latter two is there whenever `Ready` is not true, unless the resource is being deleted.

use super::super::hindrance::{Hindrance, Kind};
use super::super::words::{ConditionReason, ConditionType, Truth};
use super::Statement;

pub(super) fn ready(hindrance: Option<&Hindrance>) -> Statement {
    match hindrance {
        None => Statement::new(
            ConditionType::Ready,
            Truth::True,
            ConditionReason::Ready,
            "The server runs as the resource asks for",
        ),
        Some(hindrance) => told(ConditionType::Ready, hindrance.ready, hindrance),
    }
}

pub(super) fn reconciling(hindrance: Option<&Hindrance>) -> Option<Statement> {
    let hindrance = hindrance.filter(|hindrance| hindrance.kind == Kind::UnderWay)?;
    Some(told(ConditionType::Reconciling, Truth::True, hindrance))
}

pub(super) fn stalled(hindrance: Option<&Hindrance>) -> Option<Statement> {
    let waits = |hindrance: &&Hindrance| matches!(hindrance.kind, Kind::Input | Kind::StuckRollout);
    Some(told(ConditionType::Stalled, Truth::True, hindrance.filter(waits)?))
}

fn told(condition: ConditionType, truth: Truth, hindrance: &Hindrance) -> Statement {
    Statement::new(condition, truth, hindrance.reason, hindrance.message.clone())
}
