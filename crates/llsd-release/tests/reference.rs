//! The reference pages of the documentation are what the program says today, and leave nothing blank.

use std::path::Path;
use std::{env, fs};

use llsd_release::reference::pages;

#[test]
fn the_reference_pages_are_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    for (name, page) in pages() {
        let file = folder.join(name);
        if env::var_os("UPDATE_REFERENCE").is_some() {
            fs::write(&file, &page).unwrap();
        }
        let kept = fs::read_to_string(&file).unwrap_or_default();
        assert!(kept == page, "docs/reference/{name} is old: UPDATE_REFERENCE=1 writes it anew");
    }
}

#[test]
fn every_row_says_what_it_means() {
    for (name, page) in pages() {
        let rows = page.lines().filter(|line| line.starts_with("| `"));
        for row in rows {
            assert!(!row.ends_with("|  |") && !row.ends_with("| |"), "{name}: {row}");
        }
    }
}
