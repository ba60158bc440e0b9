//! The HTTP client's errors in this crate's words, without addresses: they may be signed ones.

use std::error::Error as _;

use llsd_image::UNRESOLVED;
use reqwest::Url;

use crate::{Error, address::Forbidden};

/// `host` or `host:port`, as rules are keyed.
pub(crate) fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

pub(crate) fn explain(error: &reqwest::Error, host: &str, during: &'static str) -> Error {
    let host = host.to_owned();
    if error.is_timeout() {
        return Error::TimedOut { host, what: during };
    }
    let mut reason = None;
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(forbidden) = cause.downcast_ref::<Forbidden>() {
            return Error::ForbiddenAddress { host, address: forbidden.address.to_string() };
        }
        // The innermost cause is the one that a person can act on.
        reason = Some(cause.to_string());
        source = cause.source();
    }
    let reason = reason.map_or_else(|| during.to_owned(), |reason| steady(&reason).to_owned());
    Error::Unreachable { host, reason }
}

/// A name that cannot be resolved is reported in one word or another, as resolvers have it from one
/// moment to the next. Statuses show the reason, and must not change with it.
fn steady(reason: &str) -> &str {
    if reason.contains("lookup address information") { UNRESOLVED } else { reason }
}

#[cfg(test)]
mod tests {
    use super::steady;

    #[test]
    fn a_name_that_cannot_be_resolved_is_always_told_alike() {
        for said in ["Name or service not known", "Temporary failure in name resolution"] {
            let said = format!("failed to lookup address information: {said}");
            assert_eq!(steady(&said), "its name cannot be resolved");
        }
        assert_eq!(steady("connection refused"), "connection refused");
    }
}
