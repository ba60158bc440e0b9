//! The operator at work: watches feed a cache and a queue, workers take resources from the queue and
//! reconcile them. Only the leader does this.

mod api;
pub(crate) mod api_error;
mod apply;
mod bundles;
mod cache;
mod configuration;
mod context;
mod events;
mod gather;
mod history;
mod memory;
mod object;
mod observe;
mod outcome;
pub mod preview;
mod prune;
mod queue;
mod reconcile;
mod record_image;
mod registries;
mod report;
mod rights;
mod run;
mod scope;
mod secret_key;
mod secrets;
mod served;
mod servers;
mod settings;
mod shallow;
mod synced;
mod turns;
mod unwatched;
mod watched;
mod watches;

pub use api::distribution as resources;
pub use context::{Context, Error};
pub use run::run;
pub use scope::Scope;
pub use settings::Settings;
