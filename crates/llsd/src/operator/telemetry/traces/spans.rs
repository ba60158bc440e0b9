//! The spans that are recorded, each opened where its work is done.

use llsd_plan::resource::Key;
use tracing::Span;
use tracing::field::Empty;

/// The target of all spans.
pub const TARGET: &str = "llsd_trace";

/// The name of a look at a resource.
pub(super) const LOOK: &str = "reconcile";

/// One look at a resource. Only what is a part of one is recorded.
pub fn reconcile(key: &Key) -> Span {
    let (namespace, name) = (&*key.namespace, &*key.name);
    tracing::trace_span!(target: TARGET, "reconcile", namespace, name, result = Empty, error = Empty)
}

/// Says how a look ended.
pub fn ended(span: &Span, result: &'static str, is_error: bool) {
    span.record("result", result);
    if is_error {
        span.record("error", true);
    }
}

/// The first step; those that wait have their spans where they are.
pub fn parse<T>(work: impl FnOnce() -> T) -> T {
    tracing::trace_span!(target: TARGET, "parse").in_scope(work)
}

/// The fifth step.
pub fn decide<T>(work: impl FnOnce() -> T) -> T {
    tracing::trace_span!(target: TARGET, "decide").in_scope(work)
}

/// One request to the API server.
pub fn request(verb: &'static str, path: &str) -> Span {
    tracing::trace_span!(target: TARGET, "request", verb, path, code = Empty, error = Empty)
}

/// Says how a request ended; without an answer there is no code.
pub fn answered(span: &Span, code: Option<u16>) {
    match code {
        Some(code) => drop(span.record("code", code)),
        None => drop(span.record("error", true)),
    }
}
