//! The results that the operator's figures tell apart, and their names there.

use llsd_api::v1alpha2::Phase;

/// How one look at a resource ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconcile {
    Planned,
    /// The resource has problems, which its status says.
    Refused,
    /// The registry or the API server did not answer; it is tried again.
    Unavailable,
    Bug,
    /// The resource is gone.
    Deleted,
}

impl Reconcile {
    pub(super) const ALL: [Self; 5] =
        [Self::Planned, Self::Refused, Self::Unavailable, Self::Bug, Self::Deleted];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Refused => "refused",
            Self::Unavailable => "unavailable",
            Self::Bug => "bug",
            Self::Deleted => "deleted",
        }
    }
}

/// Where an image's configuration came from, or why it did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Known already; no registry was asked.
    Cached,
    Fetched,
    /// The registry answered, and trying again would not change its answer.
    Refused,
    Unavailable,
}

impl Lookup {
    pub(super) const ALL: [Self; 4] =
        [Self::Cached, Self::Fetched, Self::Refused, Self::Unavailable];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cached => "cached",
            Self::Fetched => "fetched",
            Self::Refused => "refused",
            Self::Unavailable => "unavailable",
        }
    }
}

/// What became of a server's generated configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// A new one was written.
    Written,
    /// The same bytes as before.
    Unchanged,
    Failed,
}

impl Generation {
    pub(super) const ALL: [Self; 3] = [Self::Written, Self::Unchanged, Self::Failed];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Unchanged => "unchanged",
            Self::Failed => "failed",
        }
    }
}

/// How a call of a webhook ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Converted, or admitted.
    Answered,
    /// Not admitted, for problems of the resource.
    Refused,
    /// What was sent was no review, or could not be read.
    NoReview,
    /// There was no answer in time.
    Late,
    Bug,
}

impl Call {
    pub(super) const ALL: [Self; 5] =
        [Self::Answered, Self::Refused, Self::NoReview, Self::Late, Self::Bug];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Refused => "refused",
            Self::NoReview => "no_review",
            Self::Late => "late",
            Self::Bug => "bug",
        }
    }
}

pub(super) const PHASES: [Phase; 5] =
    [Phase::Pending, Phase::Initializing, Phase::Ready, Phase::Failed, Phase::Terminating];

/// As in the resource's status.
pub(super) fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Pending => "Pending",
        Phase::Initializing => "Initializing",
        Phase::Ready => "Ready",
        Phase::Failed => "Failed",
        Phase::Terminating => "Terminating",
    }
}
