//! Where the files of the repository are.

use std::fs;
use std::path::{Path, PathBuf};

use llsd_plan::releases::Distribution;

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
    let newest = ["starter", "ogx-starter"].map(|name| &Distribution::all()[name]);
    let file = match newest.iter().find(|known| known.release == release) {
        Some(known) => format!("src/releases/bases/{}.yaml", known.file),
        None => format!("tests/bases/starter-{release}.yaml"),
    };
    repository("crates/llsd-plan").join(file)
}

/// The content of a file of the repository.
pub fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
