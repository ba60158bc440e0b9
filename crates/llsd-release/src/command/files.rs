//! Files and programs that the commands are given, and what they write.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_json::Value;

/// `ARCHITECTURE=FILE`, such as `amd64=target/llsd`.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) architecture: String,
    pub(super) path: PathBuf,
}

impl FromStr for Program {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (architecture, path) =
            text.split_once('=').ok_or("give ARCHITECTURE=FILE, such as amd64=llsd")?;
        Ok(Self { architecture: architecture.to_owned(), path: path.into() })
    }
}

impl Program {
    pub(super) fn load(&self) -> Result<(String, Vec<u8>), String> {
        Ok((self.architecture.clone(), read_file(&self.path)?))
    }
}

pub(super) fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| at(path, &error))
}

pub(super) fn read_text(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| at(path, &error))
}

pub(super) fn read_json(path: &Path) -> Result<Value, String> {
    serde_json::from_slice(&read_file(path)?).map_err(|error| at(path, &error))
}

pub(super) fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), String> {
    std::fs::write(path, content).map_err(|error| at(path, &error))
}

pub(super) fn at(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}
