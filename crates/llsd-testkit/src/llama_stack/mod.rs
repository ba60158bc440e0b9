//! Real llama-stack servers of several releases, from the Python package index: installed into the
//! cache, asked to check a configuration, or booted on loopback.

mod boot;
mod check;
mod checker;
mod image_archives;
mod install;
mod policies;
mod provider_types;
mod release;
mod server;

/// What a small distribution carries in its labels.
pub const SMALL_BASE: &str = include_str!("small_base.yaml");

pub use boot::Boot;
pub use check::{Candidate, CheckResult};
pub use checker::Checker;
pub use image_archives::{ImageArchive, TOKENIZERS};
pub use install::Venv;
pub use policies::{Decided, Decisions};
pub use provider_types::{InstalledField, InstalledType};
pub use release::Release;
pub use server::{Answer, LlamaStackServer};
