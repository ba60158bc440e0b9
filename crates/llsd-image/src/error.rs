//! Everything that can go wrong between a reference and its configuration, as data. No variant
//! carries a credential, a token, a response body or a signed address.

use std::time::Duration;

use llsd_reference::{Digest, InvalidReference};

/// Why an image's configuration could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Says what is wrong but not the text itself, which may hold a password before an `@`.
    #[error("not an image reference: {0}")]
    InvalidReference(&'static str),
    #[error("{at}: the registry accepts none of the credentials, and no anonymous access")]
    Unauthorised { at: String },
    #[error("{at}: the registry does not let these credentials push there")]
    MayNotPush { at: String },
    #[error("{at}: not found in the registry")]
    NotFound { at: String },
    #[error("{what} is larger than the limit of {limit} bytes")]
    TooLarge { what: String, limit: u64 },
    #[error("{what} is not what its digest names: expected {expected}, got {actual}")]
    WrongDigest { what: String, expected: Digest, actual: Digest },
    #[error("{at}: the image index lists no platform that can be used")]
    NoPlatform { at: String },
    #[error("{host} cannot be reached: {reason}")]
    Unreachable { host: String, reason: String },
    #[error("{host} did not answer in time ({what})")]
    TimedOut { host: String, what: &'static str },
    #[error("{host} is busy or failing (HTTP {status})")]
    Busy { host: String, status: u16, retry_after: Option<Duration> },
    #[error("{host} answered unexpectedly (HTTP {status})")]
    Unexpected { host: String, status: u16 },
    #[error("{what} cannot be understood: {reason}")]
    Malformed { what: String, reason: String },
    #[error("{host} leads to an address that is not allowed ({address})")]
    ForbiddenAddress { host: String, address: String },
    #[error("{host} would have to be spoken to without encryption ({why})")]
    NotEncrypted { host: String, why: &'static str },
    #[error("{host} redirects more than {limit} times")]
    TooManyRedirects { host: String, limit: usize },
    #[error("the label {label} is not usable: {reason}")]
    InvalidLabel { label: String, reason: &'static str },
    #[error("the layer holds no file {path}")]
    NotInLayer { path: String },
    #[error("no layer of the image holds a file {path}")]
    NotInImage { path: String },
    #[error("the layer deletes {path}")]
    DeletedInLayer { path: String },
    #[error("{path} in the layer is not a regular file")]
    NotAFile { path: String },
    #[error("{path} in the layer is a link that leads outside of it, or nowhere")]
    BadLink { path: String },
    #[error("{at}: the operator's configuration has no mirror for it and forbids its source")]
    Blocked { at: String },
    #[error("{at}: none of the keys that the operator's configuration names signed it")]
    Unsigned { at: String },
    #[error("the registry configuration is not usable: {0}")]
    Configuration(String),
}

impl From<InvalidReference> for Error {
    fn from(InvalidReference(reason): InvalidReference) -> Self {
        Self::InvalidReference(reason)
    }
}

/// Why a host cannot be reached whose name no resolver knows, or whose resolver does not answer.
pub const UNRESOLVED: &str = "its name cannot be resolved";

impl Error {
    /// Whether no registry was asked, because the host's name could not be resolved.
    pub fn is_unresolved(&self) -> bool {
        matches!(self, Self::Unreachable { reason, .. } if reason == UNRESOLVED)
    }

    /// Whether the same request may succeed later without anyone changing anything.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. }
                | Self::TimedOut { .. }
                | Self::Busy { .. }
                | Self::Unexpected { .. }
        )
    }

    /// The error as a status shows it. A tenant who names a host and a port must not learn from the status
    /// whether that port is open. The status still reports problems with the name and the certificate, which
    /// the tenant can fix.
    #[must_use]
    pub fn without_telling_ports(self) -> Self {
        let told = |reason: &str| reason.contains("name") || reason.contains("certificate");
        match self {
            Self::Unreachable { host, reason } if !told(&reason) => Self::no_answer(host),
            Self::TimedOut { host, .. } => Self::no_answer(host),
            other => other,
        }
    }

    fn no_answer(host: String) -> Self {
        Self::Unreachable { host, reason: "no registry answers there".to_owned() }
    }

    pub fn malformed(what: impl Into<String>, reason: impl std::fmt::Display) -> Self {
        Self::Malformed { what: what.into(), reason: format!("{reason}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_cannot_tell_an_open_port_from_a_closed_one() {
        let host = || "10.0.0.1:5432".to_owned();
        let unreachable =
            |reason: &str| Error::Unreachable { host: host(), reason: reason.to_owned() };
        let said = |error: Error| error.without_telling_ports().to_string();
        for closed in [
            unreachable("Connection refused (os error 111)"),
            unreachable("No route to host (os error 113)"),
            unreachable("received corrupt message of type InvalidContentType"),
            Error::TimedOut { host: host(), what: "connecting" },
        ] {
            assert_eq!(said(closed), "10.0.0.1:5432 cannot be reached: no registry answers there");
        }
        for told in ["its name cannot be resolved", "invalid peer certificate: UnknownIssuer"] {
            assert_eq!(unreachable(told).without_telling_ports(), unreachable(told));
        }
    }
}
