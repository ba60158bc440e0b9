//! What an image is and says, without a network: manifests, labels and layers, the mirrors it may lie in, the credentials that fit it, and the limits of reading it.

pub mod assembly;
mod config;
pub mod credentials;
pub mod document;
mod error;
pub mod labels;
pub mod layer;
pub mod manifest;
pub mod mirrors;
pub mod policy;
pub mod settings;

pub use config::{Config, Limits};
pub use credentials::Credential;
pub use error::{Error, UNRESOLVED};
pub use llsd_reference::{Digest, InvalidReference, Reference, Verifier};
