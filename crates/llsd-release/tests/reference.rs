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

/// Every constant of the sources that names a label or an annotation of the operator's.
fn names_in_sources(folder: &Path, names: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            names_in_sources(&path, names);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let constants = text.lines().filter(|line| line.contains("const "));
            names.extend(constants.filter_map(|line| {
                let (_, rest) = line.split_once("&str = \"llamastack.io/")?;
                Some(format!("llamastack.io/{}", rest.split_once('"')?.0))
            }));
        }
    }
}

#[test]
fn every_label_and_annotation_is_explained() {
    let mut names = Vec::new();
    for part in ["llsd-api", "llsd-plan"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(part).join("src");
        names_in_sources(&folder, &mut names);
    }
    assert!(names.len() > 15, "the sources name some: {names:?}");
    let page = llsd_release::reference::labels();
    let missing: Vec<_> =
        names.iter().filter(|name| !page.contains(&format!("| `{name}` |"))).collect();
    assert_eq!(missing, Vec::<&String>::new(), "not on docs/reference/labels.md");
}
