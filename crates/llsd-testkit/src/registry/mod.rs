//! A real registry on loopback, Debian's docker-registry, and images to put into it.

mod image;
mod push;
mod server;
mod signer;
mod token_service;
mod user;

pub use image::{TestImage, TestLayer};
pub use server::{RegistryBuilder, RegistryServer};
pub use signer::ImageSigner;
pub use user::User;
