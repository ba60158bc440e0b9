//! What keeps a resource from being ready. `Ready`, `Reconciling`, `Stalled` and the phase all follow
//! from it, so they cannot contradict each other.

use llsd_api::v1alpha2::Phase;

use super::messages;
use super::observed::{Limitation, ObservedObjects};
use super::previous::Previous;
use super::rollout::{Progress, RolloutProgress};
use super::stage::Stage;
use super::vocabulary::{ConditionReason, ConditionType, Truth};
use crate::problems::Reason;
use crate::resource::PAUSED;
use crate::rollout::preflight::State;
use crate::rollout::{KeepCause, Refused};

/// The one thing that is in the way.
#[derive(Clone, Debug)]
pub(super) struct Obstacle {
    pub(super) cause: Cause,
    /// What `Ready` is for it: `Unknown` only before anything was tried.
    pub(super) ready: Truth,
    pub(super) reason: ConditionReason,
    pub(super) message: String,
}

/// Who has to act on an obstacle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// Nobody: it is going away.
    Deletion,
    /// The user, on the resource or on an object in its way.
    Input,
    /// The user, who paused the resource.
    Paused,
    /// The user, on what keeps the pods from running.
    StuckRollout,
    /// The user, on what keeps the server from being reached from outside.
    Exposure,
    /// The operator or the cluster, which are at it.
    UnderWay,
}

impl Obstacle {
    pub(super) fn find(
        stage: &Stage<'_>,
        rollout: &RolloutProgress,
        live: &ObservedObjects,
        previous: &Previous,
    ) -> Option<Self> {
        let before = |condition, reason| of_before_the_pause(stage, previous, condition, reason);
        let refused = || before(ConditionType::Preflight, ConditionReason::PreflightFailed);
        let returned = || before(ConditionType::RolledBack, ConditionReason::RolledBack);
        of_stage(stage)
            .or_else(|| of_leftovers(stage))
            .or_else(|| of_lost_programs(stage))
            .or_else(|| of_preflight(stage))
            .or_else(refused)
            .or_else(|| of_models(rollout, live))
            .or_else(|| of_rollout(rollout))
            .or_else(|| of_return(stage))
            .or_else(returned)
            .or_else(|| of_exposure(live))
    }

    fn new(cause: Cause, reason: ConditionReason, message: impl Into<String>) -> Self {
        Self { cause, ready: Truth::False, reason, message: message.into() }
    }
}

fn of_stage(stage: &Stage<'_>) -> Option<Obstacle> {
    let obstacle = match stage {
        Stage::Deleting => Obstacle::new(
            Cause::Deletion,
            ConditionReason::Terminating,
            "The resource is being deleted",
        ),
        Stage::Paused { change_waits: true, .. } => Obstacle::new(
            Cause::Paused,
            ConditionReason::Paused,
            format!("The resource is paused; remove the annotation {PAUSED} to carry it out"),
        ),
        Stage::Hindered(limitations) => of_limitations(limitations),
        Stage::Unreadable(why) => {
            Obstacle::new(Cause::Input, ConditionReason::InvalidResource, *why)
        }
        Stage::Refused(refusal) => {
            let reason = if refusal.others.is_empty() {
                refusal.reason_of_secrets()
            } else {
                refusal.reason_of_others()
            };
            let all = refusal.others.iter().chain(&refusal.secrets).copied();
            Obstacle::new(Cause::Input, reason, messages::problems(all))
        }
        Stage::Unavailable(missing) => Obstacle::new(
            Cause::UnderWay,
            ConditionReason::RegistryUnavailable,
            messages::problems(*missing),
        ),
        Stage::Planned(_) => Obstacle {
            ready: Truth::Unknown,
            ..Obstacle::new(
                Cause::UnderWay,
                ConditionReason::Applying,
                "The objects of the resource are being applied",
            )
        },
        Stage::NotWritten(_, failure) => {
            let cause = match failure.refused {
                Refused::NotOurs
                | Refused::OtherContent
                | Refused::Invalid
                | Refused::Denied
                | Refused::Forbidden => Cause::Input,
                Refused::Unavailable => Cause::UnderWay,
            };
            Obstacle::new(cause, failure.reason(), failure.sentence())
        }
        Stage::Paused { change_waits: false, .. } | Stage::Contended(_) | Stage::Applied(..) => {
            return None;
        }
    };
    Some(obstacle)
}

/// Nothing can be done before all of them are lifted.
fn of_limitations(limitations: &[Limitation]) -> Obstacle {
    let forbidden = limitations.iter().any(|limit| matches!(limit, Limitation::Forbidden(_)));
    let (cause, reason) = if forbidden {
        (Cause::Input, ConditionReason::Forbidden)
    } else {
        (Cause::UnderWay, ConditionReason::NotWatched)
    };
    Obstacle::new(cause, reason, messages::limitations(limitations.iter()))
}

/// All objects but some are as the resource asks for.
fn of_leftovers(stage: &Stage<'_>) -> Option<Obstacle> {
    let Stage::Applied(plan, applied) = stage else { return None };
    if let Some(first) = plan.withheld.first() {
        let cause =
            if first.reason == Reason::Unavailable { Cause::UnderWay } else { Cause::Input };
        let message = messages::problems(&plan.withheld);
        return Some(Obstacle::new(cause, ConditionReason::KindNotServed, message));
    }
    let left = applied.undeleted.first()?;
    let (cause, reason) = match left.refused {
        Refused::Forbidden => (Cause::Input, ConditionReason::Forbidden),
        Refused::NotOurs
        | Refused::OtherContent
        | Refused::Invalid
        | Refused::Denied
        | Refused::Unavailable => (Cause::UnderWay, ConditionReason::NotDeleted),
    };
    let message =
        format!("{} is no longer asked for and still there: {}", left.object, left.message);
    Some(Obstacle::new(cause, reason, message))
}

/// What runs goes on, and no pod could take its place.
fn of_lost_programs(stage: &Stage<'_>) -> Option<Obstacle> {
    let Stage::Applied(_, applied) = stage else { return None };
    let message = messages::lost_programs(&applied.lost)?;
    Some(Obstacle::new(Cause::Input, ConditionReason::StartProgramMissing, message))
}

/// The pods wait for somebody to bring a model to its backend, and then go on by themselves.
fn of_models(rollout: &RolloutProgress, live: &ObservedObjects) -> Option<Obstacle> {
    let awaited =
        live.models_awaited.as_ref().filter(|_| rollout.progress != Progress::Complete)?;
    let cause = match rollout.progress {
        Progress::Stuck => Cause::StuckRollout,
        Progress::Missing | Progress::UnderWay | Progress::Complete => Cause::UnderWay,
    };
    Some(Obstacle::new(cause, ConditionReason::WaitingForModels, messages::models_awaited(awaited)))
}

fn of_rollout(rollout: &RolloutProgress) -> Option<Obstacle> {
    let (cause, reason) = match rollout.progress {
        Progress::Complete => return None,
        Progress::Missing => (Cause::UnderWay, ConditionReason::DeploymentPending),
        Progress::Stuck => (Cause::StuckRollout, ConditionReason::RolloutStuck),
        Progress::UnderWay if !rollout.troubles.is_empty() => {
            (Cause::UnderWay, ConditionReason::ServerFailing)
        }
        Progress::UnderWay => (Cause::UnderWay, ConditionReason::RollingOut),
    };
    Some(Obstacle::new(cause, reason, rollout.message()))
}

/// The server runs as before a change that is checked now, or was refused.
fn of_preflight(stage: &Stage<'_>) -> Option<Obstacle> {
    let preflight = stage.preflight().filter(|preflight| preflight.holds())?;
    let (cause, reason) = match &preflight.state {
        State::Checked(_) => (Cause::StuckRollout, ConditionReason::PreflightFailed),
        State::ToBeAsked(_) | State::Waiting(_) | State::Asking(..) => {
            (Cause::UnderWay, ConditionReason::PreflightRunning)
        }
    };
    Some(Obstacle::new(cause, reason, messages::preflight(preflight)))
}

/// The server runs, but as it did before a change that failed. Whoever asked for that has what they want.
fn of_return(stage: &Stage<'_>) -> Option<Obstacle> {
    let KeepCause::RolledBack(back) = &stage.applied()?.kept.as_ref()?.cause else { return None };
    let message = messages::rolled_back(back);
    (!back.is_asked_for())
        .then(|| Obstacle::new(Cause::StuckRollout, ConditionReason::RolledBack, message))
}

/// A change that was refused or rolled back before the resource was paused: a pause by itself changes nothing
/// of what `Ready` says.
fn of_before_the_pause(
    stage: &Stage<'_>,
    previous: &Previous,
    condition: ConditionType,
    reason: ConditionReason,
) -> Option<Obstacle> {
    let Stage::Paused { .. } = stage else { return None };
    let before = previous.condition(condition).filter(|it| it.reason == reason.as_str())?;
    Some(Obstacle::new(Cause::StuckRollout, reason, before.message.clone()))
}

/// The server runs, but not where the resource asks to be reached.
fn of_exposure(live: &ObservedObjects) -> Option<Obstacle> {
    let why = live.not_admitted.as_ref()?;
    Some(Obstacle::new(Cause::Exposure, ConditionReason::RouteNotAdmitted, why))
}

/// The state in one word; the table is in the documentation of [`super`].
pub(super) fn phase(obstacle: Option<&Obstacle>, rollout: &RolloutProgress) -> Phase {
    let Some(obstacle) = obstacle else { return Phase::Ready };
    match obstacle.cause {
        Cause::Deletion => Phase::Terminating,
        Cause::Input => Phase::Failed,
        _ if rollout.progress == Progress::Missing => Phase::Pending,
        // While old pods serve, a rollout that fails is no failure of the server.
        _ if rollout.available == 0 && !rollout.troubles.is_empty() => Phase::Failed,
        _ => Phase::Initializing,
    }
}
