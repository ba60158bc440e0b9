//! The operator at work: watches feed a cache and a queue, workers take resources from the queue and
//! reconcile them. Only the leader does this.

mod context;
mod events;
mod outcome;
mod own_account;
mod pipeline;
pub mod preview;
mod reconcile;
mod record_image;
mod registries;
mod requests;
mod run;
mod secrets;
mod servers;
mod shared;
pub(crate) mod state;
mod steps;
mod watches;

pub use context::{Context, Error};
pub use requests::api::distribution as resources;
pub use run::run;
pub use state::{Scope, Settings};
