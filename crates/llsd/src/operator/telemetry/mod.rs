//! What the operator tells of itself while it runs: its log, its figures, and the client that
//! counts what is asked of the API server. Events and conditions are not made here.

pub mod api_calls;
pub mod logs;
pub mod metrics;
mod outcome;

pub use api_calls::client;
pub use metrics::Metrics;
pub use outcome::{Call, Generation, Lookup, Reconcile};
