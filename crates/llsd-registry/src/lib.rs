//! Reads a distribution's base configuration out of its image in a registry.

mod config;
pub mod credentials;
mod digest;
mod error;
pub mod labels;
mod layer;
mod reference;

pub use config::{Config, HostRules, Limits};
pub use credentials::Credential;
pub use digest::Digest;
pub use error::Error;
pub use labels::Source;
pub use reference::Reference;
