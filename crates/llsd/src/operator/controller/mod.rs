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
mod kept_config;
mod memory;
mod object;
mod observe;
mod operator_config;
mod pinned_certificate;
pub mod preview;
mod prune;
mod pull_credentials;
mod queue;
mod reconcile;
mod report;
mod run;
mod scope;
mod secret_key;
mod secrets;
mod server_probe;
mod settings;
mod shallow;
mod synced;
mod watches;

pub use context::{Context, Error};
pub use run::run;
pub use scope::Scope;
pub use settings::Settings;
