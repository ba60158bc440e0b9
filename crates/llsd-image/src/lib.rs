//! What an image is and says, without a network: references and digests, manifests, labels and layers,
//! the mirrors it may lie in, the credentials that fit it, and the limits of reading it.

pub mod assembly;
mod config;
pub mod credentials;
mod digest;
pub mod document;
mod error;
pub mod labels;
pub mod layer;
pub mod manifest;
pub mod mirrors;
pub mod policy;
mod reference;
pub mod settings;

pub use config::{Config, Limits};
pub use credentials::Credential;
pub use digest::{Digest, InvalidDigest, Verifier};
pub use error::{Error, UNRESOLVED};
pub use reference::Reference;
