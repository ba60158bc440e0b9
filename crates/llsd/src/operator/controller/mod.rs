//! The operator at work: watches feed a cache and a queue, workers take resources from the queue and
//! reconcile them. Only the leader does this.

mod api;
pub(crate) mod api_error;
mod apply;
mod asker;
mod bundles;
mod cache;
mod configuration;
mod context;
mod events;
mod follow;
mod gather;
mod image_records;
mod lookups;
mod memory;
mod object;
mod observe;
mod optional_kinds;
mod outcome;
mod pinned_certificate;
pub mod preview;
mod prune;
mod pull_credentials;
mod queue;
mod reconcile;
mod record_image;
mod report;
mod rights;
mod run;
mod scope;
mod secret_key;
mod secrets;
mod served;
mod server_probe;
mod servers;
mod settings;
mod shallow;
mod synced;
mod turns;
mod unwatched;
mod watched;
mod watches;

pub use context::{Context, Error};
pub use run::run;
pub use scope::Scope;
pub use settings::Settings;
