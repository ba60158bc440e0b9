//! What the operator reports of itself while it runs: its log, its figures, and the client that
//! counts what is asked of the API server. Events and conditions are not made here.

pub mod api_calls;
mod hosts;
pub mod logs;
pub mod metrics;
mod results;
mod status_changes;
pub mod traces;

pub use api_calls::client;
pub use metrics::{Certificate, Metrics};
pub use results::{Call, Condition, Generation, HeldChange, Look, Lookup, Reconcile};
pub use status_changes::count as count_changes;
