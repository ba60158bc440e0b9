//! Reads a distribution's base configuration out of its image in a registry, and writes the labels
//! under which it is found there.

mod address;
mod cache;
pub mod challenge;
mod client;
mod config;
pub mod credentials;
mod digest;
mod error;
mod identity;
mod image;
pub mod labels;
pub mod layer;
pub mod mirrors;
mod published;
mod reference;
mod registry;
pub mod settings;
mod token;
mod transport;
mod unpacking;

pub use client::{Client, Manifest, Placed, PlatformManifest, Repository, platforms};
pub use config::{Config, Limits};
pub use credentials::Credential;
pub use digest::{Digest, InvalidDigest};
pub use error::Error;
pub use image::{BaseConfig, Image};
pub use labels::Source;
pub use published::{FoundFile, Other, Part, Published, Pushed, Rewritten};
pub use reference::Reference;
pub use registry::{Attempt, Credentials, Registry};
pub use transport::BlobStream;
