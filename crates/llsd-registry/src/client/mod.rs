//! The distribution API: manifests and blobs, read and written. Whatever it returns has the digest
//! that was asked for.

mod hosts;
mod manifest;
mod pull;
mod push;
mod repository;
mod request;

pub use manifest::{Manifest, PlatformManifest, platforms};
pub(crate) use manifest::{digest_of, is_image, platform_name};
pub use push::Placed;
pub use repository::{Client, Repository};
