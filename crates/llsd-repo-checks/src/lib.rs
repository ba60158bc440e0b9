//! Reads the repository itself, so that its tests can say what holds of its shape: which file is
//! which module, who imports whom, where imports run in a circle, how long functions are, which types there
//! are, and which words its pages use.

mod arrows;
mod circles;
mod modules;
mod names;
mod python;
mod source;
mod words;

use std::path::{Path, PathBuf};

pub use arrows::{Arrow, arrows};
pub use circles::{circles, folder_circles};
pub use modules::Crate;
pub use python::python_arrows;
pub use source::{Function, functions, types};
pub use words::{Avoided, Use, avoided, uses};

/// The root of the repository.
pub fn repository() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the repository is there")
}

/// The folders of all crates.
pub fn crates() -> Vec<PathBuf> {
    let folder = repository().join("crates");
    let entries = folder.read_dir().expect("the crates are there");
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    found.retain(|folder| folder.join("Cargo.toml").is_file());
    found.sort();
    found
}
