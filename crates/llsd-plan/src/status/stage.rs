//! How far one pass came, with everything that the conditions must tell apart.

use super::observed::{Applied, Applying, Limitation, Pass, StatusInputs};
use super::vocabulary::ConditionReason;
use crate::objects::ObjectKind;
use crate::plan::{Plan, Planning};
use crate::problems::{Problem, Reason};
use crate::rollout::preflight::Preflight;
use crate::rollout::{Contention, KeepCause, Refused, WriteFailure};

/// How far one pass came. What comes first wins: nothing is applied of what could not be planned,
/// and of a resource that goes nothing is reported but that it goes.
#[derive(Clone, Debug)]
pub(super) enum Stage<'a> {
    Deleting,
    /// Nothing is done.
    Paused {
        /// A change of the resource waits for that.
        change_waits: bool,
        /// The inputs that wait, where they are known.
        inputs: Option<&'a [String]>,
    },
    /// Another installation of the operator has it.
    Contended(&'a Contention),
    /// Nothing could be decided.
    Hindered(&'a [Limitation]),
    Unreadable(&'a str),
    Refused(Refusal<'a>),
    Unavailable(&'a [Problem]),
    /// Planned, and nothing is written yet.
    Planned(&'a Plan),
    NotWritten(&'a Plan, Failure<'a>),
    Applied(&'a Plan, &'a Applied),
}

/// The user's mistakes, each where it belongs.
#[derive(Clone, Debug)]
pub(super) struct Refusal<'a> {
    pub(super) secrets: Vec<&'a Problem>,
    pub(super) others: Vec<&'a Problem>,
}

/// An object that could not be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failure<'a> {
    pub(super) object: &'a str,
    pub(super) message: &'a str,
    pub(super) refused: Refused,
    /// The Deployment was written before.
    pub(super) deployment_written: bool,
}

impl<'a> Stage<'a> {
    pub(super) fn reached(observed: &StatusInputs<'a>) -> Self {
        let (planning, applying) = match observed.pass {
            Pass::Deleting => return Self::Deleting,
            Pass::Paused { waiting: inputs } => {
                return Self::Paused { change_waits: observed.resource.is_pending(), inputs };
            }
            Pass::Contended(contention) => return Self::Contended(contention),
            Pass::Hindered => return Self::Hindered(observed.limitations),
            Pass::Reconciled { planning, applying } => (planning, applying),
        };
        let plan = match planning {
            Planning::Planned(plan) => plan,
            Planning::Refused(findings) if findings.problems.is_empty() => {
                return Self::Unreadable("The resource cannot be read");
            }
            Planning::Refused(findings) => {
                return Self::Refused(Refusal::from_problems(&findings.problems));
            }
            Planning::Unavailable { missing, .. } => return Self::Unavailable(missing),
        };
        match applying {
            Applying::Nothing => Self::Planned(plan),
            Applying::Applied(applied) => Self::Applied(plan, applied),
            Applying::Failed(WriteFailure { object, message, refused }) => {
                let deployment_written = comes_after_the_deployment(plan, object);
                let failure = Failure { object, message, refused: *refused, deployment_written };
                Self::NotWritten(plan, failure)
            }
        }
    }

    /// The plan, where there is one.
    pub(super) fn plan(&self) -> Option<&'a Plan> {
        match self {
            Self::Planned(plan) | Self::NotWritten(plan, _) | Self::Applied(plan, _) => Some(plan),
            _ => None,
        }
    }

    /// The plan that the Deployment in the cluster follows.
    pub(super) fn plan_in_effect(&self) -> Option<&'a Plan> {
        match self {
            Self::Applied(plan, _) => Some(plan),
            Self::NotWritten(plan, failure) if failure.deployment_written => Some(plan),
            _ => None,
        }
    }

    /// Whether the pods stay as they are, whatever was written.
    pub(super) fn keeps_template(&self) -> bool {
        let kept = self.applied().and_then(|applied| applied.kept.as_ref());
        kept.is_some_and(|kept| !matches!(kept.cause, KeepCause::RolledBack(_)))
    }

    /// What became of the preflight of a change, where one was needed.
    pub(super) fn preflight(&self) -> Option<&'a Preflight> {
        self.applied()?.preflight.as_deref()
    }

    /// What was applied.
    pub(super) fn applied(&self) -> Option<&'a Applied> {
        match self {
            Self::Applied(_, applied) => Some(applied),
            _ => None,
        }
    }
}

impl<'a> Refusal<'a> {
    fn from_problems(problems: &'a [Problem]) -> Self {
        let (secrets, others) =
            problems.iter().partition(|problem| problem.reason.is_of_a_secret());
        Self { secrets, others }
    }

    /// The first reason that has a name in the vocabulary.
    pub(super) fn reason_of_others(&self) -> ConditionReason {
        let named = self.others.iter().find_map(|problem| match problem.reason {
            Reason::MissingConfigLabels => Some(ConditionReason::MissingConfigLabels),
            Reason::UnsupportedConfigVersion => Some(ConditionReason::UnsupportedConfigVersion),
            Reason::ConfigMapNotFound => Some(ConditionReason::ConfigMapNotFound),
            Reason::ConfigMapForbidden => Some(ConditionReason::Forbidden),
            Reason::ClaimNotFound => Some(ConditionReason::ClaimNotFound),
            _ => None,
        });
        named.unwrap_or(ConditionReason::ConfigGenerationFailed)
    }

    pub(super) fn reason_of_secrets(&self) -> ConditionReason {
        match self.secrets.first().map(|problem| problem.reason) {
            Some(Reason::SecretForbidden) => ConditionReason::Forbidden,
            Some(Reason::SecretKeyNotFound) => ConditionReason::SecretKeyNotFound,
            Some(Reason::SecretValueRejected) => ConditionReason::SecretValueRejected,
            _ => ConditionReason::SecretNotFound,
        }
    }
}

impl Failure<'_> {
    pub(super) fn reason(&self) -> ConditionReason {
        match self.refused {
            Refused::NotOurs | Refused::OtherContent => ConditionReason::ObjectNotOurs,
            Refused::Invalid | Refused::Denied => ConditionReason::ObjectRefused,
            Refused::Forbidden => ConditionReason::Forbidden,
            Refused::Unavailable => ConditionReason::ApplyFailed,
        }
    }

    pub(super) fn sentence(&self) -> String {
        format!("{}: {}", self.object, self.message)
    }
}

/// Objects are written in order, so one that comes after the Deployment says that it was written.
fn comes_after_the_deployment(plan: &Plan, object: &str) -> bool {
    let objects = plan.objects.in_order();
    let mut after =
        objects.iter().skip_while(|object| object.kind != ObjectKind::Deployment).skip(1);
    after.any(|planned| planned.to_string() == object)
}
