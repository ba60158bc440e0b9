//! The simulated cluster: an API server that applies objects as the real one does, the Deployment controller,
//! the garbage collector, a kubelet whose pods have luck or not, preflight Jobs, and a clock.

mod api_server;
mod controllers;
mod given;
mod nodes;
mod state;
mod template;

pub use api_server::Conflict;
pub use given::{Ask, BackTo, Given, News, Trouble, owner};
pub use state::{
    Guard, Held, How, Job, NAME, NAMESPACE, Pod, ReplicaSet, Rest, Stored, World, Write,
};
pub use template::{Template, identity};
