//! What a user can get wrong, as data: a field path, a reason, what is wrong, and what to do.
//!
//! Every surface (command line, admission, status, events) prints these and nothing else, so a
//! mistake reads the same wherever it is met.

use serde::Serialize;

pub use llsd_yaml::{FieldPath, Segment};

/// Why something was refused or remarked on; conditions, events and metrics count by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Reason {
    /// A field that must be there is not.
    Required,
    /// A value of the wrong JSON type, or a `null` where a value belongs.
    WrongType,
    /// A value outside its bounds or its allowed set.
    Invalid,
    /// More, or deeper, than a limit allows; then nothing else is looked at.
    LimitExceeded,
    /// A field that no version of the resource knows.
    UnknownField,
    /// A provider id used more than once.
    Duplicate,
    /// Two fields that exclude each other, or that say different things.
    Conflict,
    /// A name that points to nothing.
    NotFound,
    /// An old spelling that is still read.
    Deprecated,
    /// Accepted, but without the effect it seems to have.
    Ignored,
    /// A provider that is left out because its API, or one that it needs, is disabled.
    DisabledProviderIgnored,
    /// An external provider in the place of another one.
    ProviderOverridden,
    /// A base configuration of a version that is not supported.
    UnsupportedConfigVersion,
    /// A base configuration that cannot be read, or of a server that is not known.
    UnsupportedBase,
    /// An image that carries no configuration.
    MissingConfigLabels,
    SecretNotFound,
    SecretKeyNotFound,
    /// A Secret that the operator may not read.
    SecretForbidden,
    /// A secret value that the server would refuse to start with.
    SecretValueRejected,
    ConfigMapNotFound,
    /// A volume claim of the user's own that is not there.
    ClaimNotFound,
    /// A ConfigMap that the operator may not read.
    ConfigMapForbidden,
    /// What only a cluster or a registry could tell, and did not.
    Unavailable,
}

impl Reason {
    /// Whether it is a Secret that has to be fixed.
    pub fn is_of_a_secret(self) -> bool {
        matches!(
            self,
            Self::SecretNotFound
                | Self::SecretKeyNotFound
                | Self::SecretForbidden
                | Self::SecretValueRejected
        )
    }
}

/// One finding. A *problem* refuses the resource; as a *warning* the same shape only remarks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Problem {
    pub path: FieldPath,
    pub reason: Reason,
    /// What is wrong, without the path.
    pub message: String,
    /// What the user can do about it.
    pub remedy: String,
}

/// Everything found in one resource; nothing stops at the first mistake.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Findings {
    pub problems: Vec<Problem>,
    pub warnings: Vec<Problem>,
}

impl Findings {
    /// Adds what another check of the same resource found.
    pub fn extend(&mut self, other: Self) {
        self.problems.extend(other.problems);
        self.warnings.extend(other.warnings);
    }

    /// Whether the resource is beyond a limit, so that it is not worth planning.
    pub fn exceed_a_limit(&self) -> bool {
        self.problems.iter().any(|problem| problem.reason == Reason::LimitExceeded)
    }

    /// In the order of paths, each finding once.
    pub fn sort(&mut self) {
        for list in [&mut self.problems, &mut self.warnings] {
            list.sort();
            list.dedup();
        }
    }

    pub fn problem(
        &mut self,
        path: &FieldPath,
        reason: Reason,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.problems.push(Problem {
            path: path.clone(),
            reason,
            message: message.into(),
            remedy: remedy.into(),
        });
    }

    pub fn warning(
        &mut self,
        path: &FieldPath,
        reason: Reason,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.warnings.push(Problem {
            path: path.clone(),
            reason,
            message: message.into(),
            remedy: remedy.into(),
        });
    }
}
