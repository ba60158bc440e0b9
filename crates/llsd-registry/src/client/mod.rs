//! The distribution API: manifests and blobs, read and written. Whatever it returns has the digest
//! that was asked for.

mod hosts;
mod pull;
mod push;
mod repository;
mod request;

pub use push::Placed;
pub use repository::{Client, Repository};
