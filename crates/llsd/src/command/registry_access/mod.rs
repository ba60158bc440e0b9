//! How commands reach registries: with the user's own docker login, proxies and authorities, and what
//! they print where that fails.

mod access;
mod credential_helper;
mod docker_login;
mod failure;

pub use access::{Access, Connection, Opened};
pub use failure::{Failure, Remarks};
