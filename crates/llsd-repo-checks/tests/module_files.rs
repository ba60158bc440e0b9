//! A module with submodules is a folder with a `mod.rs`.

use std::path::{Path, PathBuf};

use llsd_repo_checks::crates;

/// The Rust files below a folder.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|ending| ending == "rs"))
        .collect()
}

#[test]
fn a_file_with_a_folder_of_its_name_keeps_only_its_unit_tests_there() {
    for file in crates().iter().flat_map(|folder| rust_files(folder)) {
        let folder = file.with_extension("");
        let others: Vec<PathBuf> =
            rust_files(&folder).into_iter().filter(|below| !below.ends_with("tests.rs")).collect();
        assert!(
            others.is_empty(),
            "{} has submodules: make it a folder with a mod.rs, or move {others:?} beside it",
            file.display()
        );
    }
}
