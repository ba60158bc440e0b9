//! The simulated cluster: an API server that applies objects as the real one does, the Deployment controller,
//! a kubelet whose pods have luck or not, preflight Jobs, and a clock.

mod api_server;
mod controllers;
mod state;

pub use api_server::Conflict;
pub use state::{Guard, Held, Job, NAME, NAMESPACE, OWNER, Pod, ReplicaSet, Stored, World};
