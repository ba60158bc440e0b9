//! What the operator reports of itself while it runs: its log, its figures, and the client that
//! counts what is asked of the API server. Events and conditions are not made here.

pub mod api_calls;
pub mod logs;
pub mod metrics;
mod results;

pub use api_calls::client;
pub use metrics::Metrics;
pub use results::{Call, Generation, Held, Look, Lookup, Reconcile};
