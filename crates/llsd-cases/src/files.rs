//! Where the files of the repository are.

use std::fs;
use std::path::{Path, PathBuf};

/// A file or folder of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The YAML files of a folder of the repository, in the order of their names.
pub fn yaml_files(folder: &str) -> Vec<PathBuf> {
    let mut files = entries(folder);
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files
}

/// Everything in a folder of the repository, in the order of the names.
pub(crate) fn entries(folder: &str) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(repository(folder))
        .unwrap_or_else(|error| panic!("{folder}: {error}"))
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    entries
}

/// The configuration that the starter distribution of a release has in its image.
pub fn starter_base(release: &str) -> PathBuf {
    repository(
        match release {
            "0.7.3" => "crates/llsd-plan/src/distributions/starter/0.7.3.yaml".to_owned(),
            "ogx-1.5.0" => "crates/llsd-plan/src/distributions/ogx-starter/1.5.0.yaml".to_owned(),
            older => format!("crates/llsd-plan/tests/bases/starter-{older}.yaml"),
        }
        .as_ref(),
    )
}

pub(crate) fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
