//! `DeploymentUpdated`, `Available`, `DeploymentReady`, `UpdatePending` and `RolledBack`. `Available` and
//! `DeploymentReady` describe the Deployment in the cluster, whatever became of the resource's last
//! change.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::super::messages::{self, MESSAGE_BYTES};
use super::super::observed::{Applied, ObservedObjects, TagNow};
use super::super::rollout::{Progress, RolloutProgress};
use super::super::stage::Stage;
use super::super::vocabulary::{ConditionReason, ConditionType, Truth};
use super::statement::Assessment;
use super::turn;
use crate::rollout::preflight::Preflight;
use crate::rollout::{KeepCause, KeptTemplate, Return};

const HOW: &str = "a change of the spec or of the annotation llamastack.io/refresh applies";
const APPROVE: &str = "a change of the spec or of the annotation llamastack.io/approve, or `llsd rollout \
                       approve`, applies";
const UP_TO_DATE: &str = "Deployment is up to date";

pub(super) fn updated(stage: &Stage<'_>, rollout: &RolloutProgress) -> Assessment {
    let (truth, reason, message) = match stage {
        Stage::Deleting | Stage::Paused { .. } | Stage::Contended(_) | Stage::Hindered(_) => {
            return Assessment::AsBefore(ConditionType::DeploymentUpdated);
        }
        Stage::Unreadable(_) | Stage::Refused(_) | Stage::Unavailable(_) => {
            let message = if rollout.progress == Progress::Missing {
                "No Deployment is made before the resource can be planned"
            } else {
                "The Deployment is left as it is until the resource can be planned"
            };
            (Truth::False, ConditionReason::PlanningFailed, message.to_owned())
        }
        Stage::Planned(_) => {
            let message = "The objects of the resource are being applied";
            (Truth::Unknown, ConditionReason::Applying, message.to_owned())
        }
        Stage::NotWritten(_, failure) if failure.deployment_written => {
            (Truth::True, ConditionReason::DeploymentUpdated, UP_TO_DATE.to_owned())
        }
        Stage::NotWritten(_, failure) => (Truth::False, failure.reason(), failure.sentence()),
        Stage::Applied(_, applied) => {
            let (truth, reason, sentence) = match applied.kept.as_ref().map(|kept| &kept.cause) {
                None => (Truth::True, ConditionReason::DeploymentUpdated, UP_TO_DATE),
                Some(KeepCause::Adopted) => (
                    Truth::False,
                    ConditionReason::AdoptedTemplateKept,
                    "The adopted Deployment keeps its pod template; UpdatePending lists what waits",
                ),
                Some(KeepCause::Upgrade) => (
                    Truth::True,
                    ConditionReason::DeploymentUpdated,
                    "Deployment is up to date with the resource; UpdatePending lists what the operator \
                     would change",
                ),
                Some(KeepCause::Preflight) => (
                    Truth::False,
                    if stage.preflight().is_some_and(Preflight::is_refused) {
                        ConditionReason::PreflightFailed
                    } else {
                        ConditionReason::PreflightRunning
                    },
                    "The Deployment keeps its pod template; Preflight says what the new one waits for",
                ),
                Some(KeepCause::WaitingForTurn) => (
                    Truth::True,
                    ConditionReason::DeploymentUpdated,
                    "Deployment is up to date with the resource; UpdatePending says what waits for its turn",
                ),
                Some(KeepCause::RolledBack(back)) => (
                    Truth::False,
                    rolled_back_reason(back),
                    "The Deployment runs an earlier state; RolledBack says why",
                ),
            };
            (truth, reason, messages::with_warnings(sentence, &applied.warnings))
        }
    };
    Assessment::new(ConditionType::DeploymentUpdated, truth, reason, message)
}

pub(super) fn available(rollout: &RolloutProgress) -> Assessment {
    let RolloutProgress { available, wanted, .. } = rollout;
    let (truth, reason, message) = if rollout.progress == Progress::Missing {
        (Truth::False, ConditionReason::DeploymentPending, rollout.message())
    } else if *available > 0 {
        let sentence = format!("{available}/{wanted} replicas are available");
        let message = rollout.with_troubles(&sentence);
        (Truth::True, ConditionReason::ReplicasAvailable, message)
    } else if *wanted == 0 {
        (Truth::True, ConditionReason::ScaledToZero, "No replicas are wanted".to_owned())
    } else {
        let message = rollout.with_troubles("No replica is available");
        (Truth::False, ConditionReason::NoReplicasAvailable, message)
    };
    Assessment::new(ConditionType::Available, truth, reason, message)
}

pub(super) fn ready(rollout: &RolloutProgress) -> Assessment {
    let (truth, reason) = match rollout.progress {
        Progress::Complete => (Truth::True, ConditionReason::DeploymentReady),
        _ if !rollout.troubles.is_empty() => (Truth::False, ConditionReason::DeploymentFailed),
        _ => (Truth::False, ConditionReason::DeploymentPending),
    };
    Assessment::new(ConditionType::DeploymentReady, truth, reason, rollout.message())
}

/// What would restart the server and is therefore left until somebody asks for it.
pub(super) fn update_pending(
    stage: &Stage<'_>,
    tag: &TagNow,
    before: Option<&Condition>,
) -> Option<Assessment> {
    let (kept, applied) = match stage {
        Stage::Deleting => return None,
        Stage::Paused { .. } => return Some(Assessment::AsBefore(ConditionType::UpdatePending)),
        Stage::Applied(_, Applied { turn: Some(waiting), .. }) => {
            return Some(turn::waits(waiting));
        }
        Stage::Applied(_, applied) => {
            let kept = applied.kept.as_ref();
            let waits =
                |cause: &KeepCause| matches!(cause, KeepCause::Adopted | KeepCause::Upgrade);
            (kept.filter(|kept| waits(&kept.cause)), true)
        }
        _ => (None, false),
    };
    let keeping = [
        ConditionReason::AdoptedTemplateKept,
        ConditionReason::TemplateKept,
        ConditionReason::WaitingForTurn,
    ];
    // Where nothing was applied, what waited before still waits.
    if !applied
        && before.is_some_and(|before| keeping.iter().any(|kept| before.reason == kept.as_str()))
    {
        return Some(Assessment::AsBefore(ConditionType::UpdatePending));
    }
    let told_before =
        before.is_some_and(|before| before.reason == ConditionReason::NewerImage.as_str());
    let newer = match tag {
        TagNow::Unknown if kept.is_none() && told_before => {
            return Some(Assessment::StillHolds(ConditionType::UpdatePending));
        }
        tag => newer_images(tag),
    };
    let (reason, message) = match (kept, newer.is_empty()) {
        (None, true) => return None,
        (None, false) => (ConditionReason::NewerImage, newer),
        (Some(kept), _) => kept_template(kept, newer),
    };
    let condition = ConditionType::UpdatePending;
    Some(Assessment::new(condition, Truth::True, reason, message))
}

/// Which tags point to another image than the one that runs; empty where none does.
fn newer_images(tag: &TagNow) -> String {
    match tag {
        TagNow::Unknown | TagNow::Unmoved => String::new(),
        TagNow::Moved(digest) => format!("The image's tag points to {digest} by now; {HOW} it"),
        TagNow::ProvidersMoved { server, providers } => {
            let server = server.iter().map(|digest| format!("the image's tag points to {digest}"));
            let of = |(image, digest): &(String, String)| {
                format!("the tag of the provider image {image} points to {digest}")
            };
            let all = server.chain(providers.iter().map(of)).collect::<Vec<_>>().join(", ");
            format!("{}{} by now; {HOW} it", all[..1].to_uppercase(), &all[1..])
        }
    }
}

/// Why the running template is kept, what waits, and which newer images there are.
fn kept_template(kept: &KeptTemplate, newer: String) -> (ConditionReason, String) {
    let (reason, start) = match &kept.cause {
        KeepCause::Adopted => (
            ConditionReason::AdoptedTemplateKept,
            format!("The adopted Deployment runs as it was; {HOW} what waits: "),
        ),
        KeepCause::Upgrade
        | KeepCause::Preflight
        | KeepCause::WaitingForTurn
        | KeepCause::RolledBack(_) => (
            ConditionReason::TemplateKept,
            format!("The server runs as it was started; {APPROVE} what waits: "),
        ),
    };
    let end = if newer.is_empty() { newer } else { format!(". {newer}") };
    let room = MESSAGE_BYTES.saturating_sub(start.len() + end.len());
    let waiting = messages::listed(kept.waiting.iter().cloned(), room);
    (reason, format!("{start}{waiting}{end}"))
}

/// That an earlier state runs, why, and how to go on.
pub(super) fn rolled_back(stage: &Stage<'_>, live: &ObservedObjects) -> Option<Assessment> {
    let back = match stage {
        Stage::Deleting => return None,
        Stage::Applied(_, applied) => match &applied.kept.as_ref()?.cause {
            KeepCause::RolledBack(back) => back,
            KeepCause::Adopted
            | KeepCause::Upgrade
            | KeepCause::Preflight
            | KeepCause::WaitingForTurn => return None,
        },
        // Where nothing was applied, the Deployment tells.
        _ => live.rolled_back.as_ref()?,
    };
    let message = messages::rolled_back(back);
    let (condition, reason) = (ConditionType::RolledBack, rolled_back_reason(back));
    Some(Assessment::new(condition, Truth::True, reason, message))
}

fn rolled_back_reason(back: &Return) -> ConditionReason {
    if back.is_asked_for() {
        ConditionReason::RollbackRequested
    } else {
        ConditionReason::RolledBack
    }
}
