//! The results that the operator's figures tell apart, and their names there.

use llsd_api::v1alpha2::Phase;
use llsd_plan::status::{ConditionReason, ConditionType};
use serde_json::Value;

/// An enum whose variants have names in the figures, and the list of all.
macro_rules! results {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            pub(super) const ALL: &[Self] = &[$(Self::$variant,)*];

            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }
    };
}

results! {
    /// How one look at a resource ended.
    Reconcile {
        Planned = "planned",
        /// The resource has problems, which its status says.
        Refused = "refused",
        /// The registry or the API server did not answer; it is tried again.
        Unavailable = "unavailable",
        /// A registry is being asked; its answer brings the resource back.
        Awaiting = "awaiting",
        Bug = "bug",
        /// The resource is paused, and nothing is done for it.
        Paused = "paused",
        /// Another installation of the operator has taken the resource over.
        Contended = "contended",
        /// What the resources of a namespace share was looked after.
        Shared = "shared",
        /// The resource is gone.
        Deleted = "deleted",
    }
}

results! {
    /// Why a server runs otherwise than is planned.
    HeldChange {
        /// An upgrade of the operator waits to be approved.
        Upgrade = "upgrade",
        /// The template of v0.9 is kept.
        Adopted = "adopted",
        /// A change of inputs that several servers share reaches other servers first.
        Turn = "turn",
        /// The new image would not start with a change.
        Preflight = "preflight",
        /// A change failed, or somebody asked for an earlier state.
        RolledBack = "rolled_back",
    }
}

impl HeldChange {
    /// From the conditions of a resource.
    pub fn from_status(status: &Value) -> Option<Self> {
        let conditions = status["conditions"].as_array()?;
        let reason = |kind: ConditionType| {
            let mut all = conditions.iter();
            all.find(|condition| condition["type"] == kind.as_str())?["reason"].as_str()
        };
        if reason(ConditionType::Preflight) == Some(ConditionReason::PreflightFailed.as_str()) {
            return Some(Self::Preflight);
        }
        if reason(ConditionType::RolledBack).is_some() {
            return Some(Self::RolledBack);
        }
        let pending = reason(ConditionType::UpdatePending)?;
        let causes = [
            (ConditionReason::TemplateKept, Self::Upgrade),
            (ConditionReason::AdoptedTemplateKept, Self::Adopted),
            (ConditionReason::WaitingForTurn, Self::Turn),
        ];
        causes.into_iter().find(|(reason, _)| reason.as_str() == pending).map(|(_, held)| held)
    }
}

/// One condition of a resource, of which only words of the vocabulary are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    pub kind: ConditionType,
    pub truth: Truth,
    pub reason: ConditionReason,
}

impl Condition {
    /// All conditions of a resource that are known.
    pub fn all_in_status(status: &Value) -> Box<[Self]> {
        let conditions = status["conditions"].as_array().into_iter().flatten();
        conditions.filter_map(Self::parse).collect()
    }

    fn parse(condition: &Value) -> Option<Self> {
        let [kind, truth, reason] =
            ["type", "status", "reason"].map(|field| condition[field].as_str());
        Some(Self {
            kind: ConditionType::ALL.iter().copied().find(|it| Some(it.as_str()) == kind)?,
            truth: Truth::ALL.iter().copied().find(|it| Some(it.name()) == truth)?,
            reason: ConditionReason::ALL.iter().copied().find(|it| Some(it.as_str()) == reason)?,
        })
    }
}

results! {
    /// Whether a condition holds.
    Truth {
        True = "True",
        False = "False",
        Unknown = "Unknown",
    }
}

results! {
    /// What an image said of a change that it was to run.
    PreflightOutcome {
        Good = "good",
        Refused = "refused",
        /// Nobody could say, and it was rolled out all the same.
        NotChecked = "not_judged",
    }
}

results! {
    /// Why a server went back to an earlier state.
    Returned {
        /// A change did not become available.
        Failed = "failed",
        /// Somebody asked for it.
        Requested = "requested",
    }
}

results! {
    /// Where an image's configuration came from, or why it did not.
    Lookup {
        /// Known already; no registry was asked.
        Cached = "cached",
        Fetched = "fetched",
        /// The registry answered, and trying again would not change its answer.
        Refused = "refused",
        Unavailable = "unavailable",
    }
}

results! {
    /// What became of a server's generated configuration.
    Generation {
        /// A new one was written.
        Written = "written",
        /// The same bytes as before.
        Unchanged = "unchanged",
        Failed = "failed",
    }
}

results! {
    /// How a call of a webhook ended.
    Call {
        /// Converted, or admitted.
        Answered = "answered",
        /// Not admitted, for problems of the resource.
        Refused = "refused",
        /// What was sent was no review, or could not be read.
        NoReview = "no_review",
        /// There was no answer in time.
        Late = "late",
        Bug = "bug",
    }
}

results! {
    /// What became of a look whether what a resource refers to exists, as it is admitted.
    Look {
        Made = "made",
        /// The caller showed no certificate of the configured authority.
        UnknownCaller = "unknown_caller",
        /// Too many went on already.
        Busy = "busy",
    }
}

results! {
    /// Whose registry it is, as far as its name tells.
    HostClass {
        DockerHub = "docker_hub",
        GitHub = "github",
        Quay = "quay",
        RedHat = "red_hat",
        Google = "google",
        Aws = "aws",
        Azure = "azure",
        Nvidia = "nvidia",
        /// An address, or a name within the cluster or its network.
        Internal = "internal",
        Other = "other",
    }
}

pub(super) const PHASES: [Phase; 5] =
    [Phase::Pending, Phase::Initializing, Phase::Ready, Phase::Failed, Phase::Terminating];
