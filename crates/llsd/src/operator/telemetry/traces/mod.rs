//! Traces: each look at a resource with its nine steps and what was asked of the API server meanwhile, sent to a
//! collector by OTLP over HTTP, as JSON. Nothing waits for a collector, and without one nothing is recorded.
//!
//! Spans are those of `tracing` under one target, which the log leaves out. They tell verbs, paths and results;
//! never what was sent or answered.

mod export;
mod layer;
mod otlp;
mod span;
mod spans;

pub use export::{Endpoint, Exporter, NoEndpoint};
pub use layer::Traces;
pub use spans::{TARGET, answered, decide, ended, parse, reconcile, request};

/// Spans that wait to be sent; more are dropped, and counted.
const WAITING: usize = 4096;

/// What records spans, and what sends them.
pub fn to(endpoint: Endpoint, instance: &str) -> (Traces, Exporter) {
    let (send, receive) = tokio::sync::mpsc::channel(WAITING);
    (Traces::new(send), Exporter::new(endpoint, instance, receive))
}
