//! `Ready`, `Reconciling` and `Stalled`, which tools that wait for a resource read (kstatus): one of
//! the latter two is there whenever `Ready` is not true, unless the resource is being deleted.

use super::super::obstacle::{Cause, Obstacle};
use super::super::vocabulary::{ConditionReason, ConditionType, Truth};
use super::statement::Assessment;

pub(super) fn ready(obstacle: Option<&Obstacle>) -> Assessment {
    match obstacle {
        None => Assessment::new(
            ConditionType::Ready,
            Truth::True,
            ConditionReason::Ready,
            "The server runs as the resource asks for",
        ),
        Some(obstacle) => from_obstacle(ConditionType::Ready, obstacle.ready, obstacle),
    }
}

pub(super) fn reconciling(obstacle: Option<&Obstacle>) -> Option<Assessment> {
    let obstacle = obstacle.filter(|obstacle| obstacle.cause == Cause::UnderWay)?;
    Some(from_obstacle(ConditionType::Reconciling, Truth::True, obstacle))
}

pub(super) fn stalled(obstacle: Option<&Obstacle>) -> Option<Assessment> {
    let waits_for_somebody = |obstacle: &&Obstacle| match obstacle.cause {
        Cause::Input | Cause::Paused | Cause::StuckRollout | Cause::Exposure => true,
        Cause::Deletion | Cause::UnderWay => false,
    };
    Some(from_obstacle(ConditionType::Stalled, Truth::True, obstacle.filter(waits_for_somebody)?))
}

fn from_obstacle(condition: ConditionType, truth: Truth, obstacle: &Obstacle) -> Assessment {
    Assessment::new(condition, truth, obstacle.reason, obstacle.message.clone())
}
