//! What keeps a resource from being ready. `Ready`, `Reconciling`, `Stalled` and the phase are all
//! told from it, so they cannot contradict each other.

use super::conditions::{config, secrets};
use super::rollout::{Progress, Rollout};
use super::verdict::{Failure, Verdict};
use super::wording;
use super::words::{ConditionReason, Truth};
use crate::rollout::Refused;

/// The one thing that is in the way.
#[derive(Clone, Debug)]
pub(super) struct Hindrance {
    pub(super) kind: Kind,
    /// What `Ready` is for it: `Unknown` only before anything was tried.
    pub(super) ready: Truth,
    pub(super) reason: ConditionReason,
    pub(super) message: String,
}

/// Who has to act on a hindrance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nobody: it is going away.
    Deletion,
    /// The user, on the resource or on an object in its way.
    Input,
    /// The user, on what keeps the pods from running.
    StuckRollout,
    /// The operator or the cluster, which are at it.
    UnderWay,
}

impl Hindrance {
    pub(super) fn of(verdict: &Verdict<'_>, rollout: &Rollout) -> Option<Self> {
        of_verdict(verdict).or_else(|| of_rollout(rollout))
    }

    fn new(kind: Kind, reason: ConditionReason, message: impl Into<String>) -> Self {
        Self { kind, ready: Truth::False, reason, message: message.into() }
    }
}

fn of_verdict(verdict: &Verdict<'_>) -> Option<Hindrance> {
    let hindrance = match verdict {
        Verdict::Deleting => Hindrance::new(
            Kind::Deletion,
            ConditionReason::Terminating,
            "The resource is being deleted",
        ),
        Verdict::Unreadable(why) => {
            Hindrance::new(Kind::Input, ConditionReason::InvalidResource, *why)
        }
        Verdict::Refused(refusal) => {
            let reason = if refusal.others.is_empty() {
                secrets::refused(&refusal.secrets)
            } else {
                config::refused(&refusal.others)
            };
            let all = refusal.others.iter().chain(&refusal.secrets).copied();
            Hindrance::new(Kind::Input, reason, wording::problems(all))
        }
        Verdict::Unavailable(missing) => Hindrance::new(
            Kind::UnderWay,
            ConditionReason::RegistryUnavailable,
            wording::problems(*missing),
        ),
        Verdict::Planned(_) => Hindrance {
            ready: Truth::Unknown,
            ..Hindrance::new(
                Kind::UnderWay,
                ConditionReason::Applying,
                "The objects of the resource are being applied",
            )
        },
        Verdict::NotWritten(_, failure) => {
            let kind = match failure.refused {
                Refused::NotOurs | Refused::Invalid => Kind::Input,
                Refused::Unavailable => Kind::UnderWay,
            };
            Hindrance::new(kind, failure.reason(), failure.told())
        }
        Verdict::Applied(..) => return None,
    };
    Some(hindrance)
}

fn of_rollout(rollout: &Rollout) -> Option<Hindrance> {
    let (kind, reason) = match rollout.progress {
        Progress::Complete => return None,
        Progress::Missing => (Kind::UnderWay, ConditionReason::DeploymentPending),
        Progress::Stuck => (Kind::StuckRollout, ConditionReason::RolloutStuck),
        Progress::UnderWay if !rollout.troubles.is_empty() => {
            (Kind::UnderWay, ConditionReason::ServerFailing)
        }
        Progress::UnderWay => (Kind::UnderWay, ConditionReason::RollingOut),
    };
    Some(Hindrance::new(kind, reason, rollout.message()))
}

impl Failure<'_> {
    pub(super) fn reason(&self) -> ConditionReason {
        match self.refused {
            Refused::NotOurs => ConditionReason::ObjectNotOurs,
            Refused::Invalid => ConditionReason::ObjectRefused,
            Refused::Unavailable => ConditionReason::ApplyFailed,
        }
    }

    pub(super) fn told(&self) -> String {
        format!("{}: {}", self.object, self.message)
    }
}
