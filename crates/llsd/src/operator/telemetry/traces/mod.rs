//! Traces: each look at a resource with its six steps and what was asked of the API server meanwhile, sent to a
//! collector by OTLP over HTTP, as JSON. Nothing waits for a collector, and without one nothing is recorded.
//!
//! Spans are those of `tracing` under one target, which the log leaves out. They tell verbs, paths and results;
//! never what was sent or answered.

mod export;
mod layer;
mod otlp;
mod span;

use std::time::Duration;

use llsd_plan::resource::Key;
use tracing::Span;
use tracing::field::Empty;

pub use export::{Endpoint, Exporter, NoEndpoint};
pub use layer::Traces;

/// The target of all spans.
pub const TARGET: &str = "llsd_trace";

/// The name of a look at a resource.
const LOOK: &str = "reconcile";

/// Spans that wait to be sent; more are dropped, and counted.
const WAITING: usize = 4096;
/// How many are sent at once, and how long the first of them waits.
const AT_ONCE: usize = 512;
const PAUSE: Duration = Duration::from_secs(2);

/// What records spans, and what sends them.
pub fn to(endpoint: Endpoint, instance: &str) -> (Traces, Exporter) {
    let (send, receive) = tokio::sync::mpsc::channel(WAITING);
    (Traces::new(send), Exporter::new(endpoint, instance, receive))
}

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

/// The fourth step.
pub fn rollout<T>(work: impl FnOnce() -> T) -> T {
    tracing::trace_span!(target: TARGET, "rollout").in_scope(work)
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
