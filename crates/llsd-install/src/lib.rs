//! The installation of the operator: the names that the install files and the running operator must
//! agree on, and the files under `deploy/`, made from code so that they never differ from it. No I/O.

mod file;
mod files;
mod manager;
pub mod names;
mod roles;
mod rules;
mod secret_policy;
mod variants;
mod webhook;

pub use file::File;
pub use files::{cluster_wide, files, namespaced};
