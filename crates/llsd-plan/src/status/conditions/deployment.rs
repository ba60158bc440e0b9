//! `DeploymentUpdated`, `Available` and `DeploymentReady`. The latter two tell of the Deployment in
//! the cluster, whatever became of the resource's last change.

use super::super::rollout::{Progress, Rollout};
use super::super::verdict::Verdict;
use super::super::wording;
use super::super::words::{ConditionReason, ConditionType, Truth};
use super::{Said, Statement};

const UP_TO_DATE: &str = "Deployment is up to date";

pub(super) fn updated(verdict: &Verdict<'_>, rollout: &Rollout) -> Said {
    let (truth, reason, message) = match verdict {
        Verdict::Deleting => return Said::AsBefore(ConditionType::DeploymentUpdated),
        Verdict::Unreadable(_) | Verdict::Refused(_) | Verdict::Unavailable(_) => {
            let message = if rollout.progress == Progress::Missing {
                "No Deployment is made before the resource can be planned"
            } else {
                "The Deployment is left as it is until the resource can be planned"
            };
            (Truth::False, ConditionReason::PlanningFailed, message.to_owned())
        }
        Verdict::Planned(_) => {
            let message = "The objects of the resource are being applied";
            (Truth::Unknown, ConditionReason::Applying, message.to_owned())
        }
        Verdict::NotWritten(_, failure) if failure.deployment_written => {
            (Truth::True, ConditionReason::DeploymentUpdated, UP_TO_DATE.to_owned())
        }
        Verdict::NotWritten(_, failure) => (Truth::False, failure.reason(), failure.told()),
        Verdict::Applied(_, applied) if applied.waiting.is_empty() => (
            Truth::True,
            ConditionReason::DeploymentUpdated,
            wording::with_warnings(UP_TO_DATE, &applied.warnings),
        ),
        Verdict::Applied(_, applied) => (
            Truth::False,
            ConditionReason::AdoptedTemplateKept,
            wording::with_warnings(
                "The adopted Deployment keeps its pod template; UpdatePending lists what waits",
                &applied.warnings,
            ),
        ),
    };
    Said::Now(Statement::new(ConditionType::DeploymentUpdated, truth, reason, message))
}

pub(super) fn available(rollout: &Rollout) -> Statement {
    let Rollout { available, wanted, .. } = rollout;
    let (truth, reason, message) = if rollout.progress == Progress::Missing {
        (Truth::False, ConditionReason::DeploymentPending, rollout.message())
    } else if *available > 0 {
        let sentence = format!("{available}/{wanted} replicas are available");
        let message = rollout.told_with_troubles(&sentence);
        (Truth::True, ConditionReason::ReplicasAvailable, message)
    } else if *wanted == 0 {
        (Truth::True, ConditionReason::ScaledToZero, "No replicas are wanted".to_owned())
    } else {
        let message = rollout.told_with_troubles("No replica is available");
        (Truth::False, ConditionReason::NoReplicasAvailable, message)
    };
    Statement::new(ConditionType::Available, truth, reason, message)
}

pub(super) fn ready(rollout: &Rollout) -> Statement {
    let (truth, reason) = match rollout.progress {
        Progress::Complete => (Truth::True, ConditionReason::DeploymentReady),
        _ if !rollout.troubles.is_empty() => (Truth::False, ConditionReason::DeploymentFailed),
        _ => (Truth::False, ConditionReason::DeploymentPending),
    };
    Statement::new(ConditionType::DeploymentReady, truth, reason, rollout.message())
}
