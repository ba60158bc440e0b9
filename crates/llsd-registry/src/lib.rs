//! Reads a distribution's base configuration out of its image in a registry, and writes the labels
//! under which it is found there. What needs no network is in `llsd-image`.

mod address;
pub mod attached;
mod cache;
pub mod challenge;
mod client;
pub mod credentials;
mod identity;
mod image;
mod published;
mod registry;
pub mod signature;
mod token;
mod transport;
mod unpacking;

pub use client::{Client, Placed, Repository};
pub use image::{BaseConfig, Image, Wanted};
pub use labels::Source;
pub use llsd_image::manifest::{Manifest, PlatformManifest, platforms};
pub use llsd_image::{
    Config, Credential, Digest, Error, InvalidReference, Limits, Reference, UNRESOLVED,
};
pub use llsd_image::{labels, layer, mirrors, policy, settings};
pub use published::{FoundFile, Other, Part, Published, Pushed, Rewritten};
pub use registry::{Credentials, Registry};
pub use transport::BlobStream;
