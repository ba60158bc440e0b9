//! `docs/requirements.md` and the threats of `docs/security.md` stay true: every module and every test that
//! they name exists, and no requirement is lost.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs::{read_dir, read_to_string};
use std::path::{Path, PathBuf};

use llsd_repo_checks::{Crate, crates, repository};

fn page() -> String {
    page_of("requirements")
}

fn page_of(name: &str) -> String {
    read_to_string(repository().join(format!("docs/{name}.md"))).unwrap()
}

/// The cells of a table row.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.strip_prefix("| ")?.strip_suffix(" |")?;
    Some(inner.split(" | ").collect())
}

fn rows(page: &str) -> Vec<Vec<&str>> {
    let rows = page.lines().filter_map(cells);
    let is_heading = |cells: &[&str]| ["id", "attack"].contains(&cells[0]) || cells[0] == "---";
    rows.filter(|cells| cells.len() == 4 && !is_heading(cells)).collect()
}

/// The test that reads the golden cases; a row that names a case names it too.
const CASES: &str = "`llsd-plan::cases::every_case_gives_what_it_says`";

/// Whether a row may name this golden case.
fn is_case(folder: &str, proof: &str) -> bool {
    let cases = repository().join("crates/llsd-plan/tests/cases");
    proof.contains(CASES) && cases.join(folder).join("resource.yaml").is_file()
}

/// Whether `crate::file::function` is a test: a function under `#[test]` or one of its kin, in a
/// test file or a source file of that name.
fn exists(name: &str) -> bool {
    let parts: Vec<&str> = name.split("::").collect();
    let [krate, file, function] = parts[..] else { return false };
    let folder = repository().join("crates").join(krate);
    let mut files = Vec::new();
    for part in ["src", "tests"] {
        collect(&folder.join(part), file, &mut files);
    }
    files.iter().any(|path| {
        let text = read_to_string(path).unwrap();
        let signature = format!("fn {function}(");
        let mut lines: Vec<&str> = text.lines().collect();
        lines.retain(|line| !line.trim().starts_with("//"));
        let at = lines.iter().position(|line| line.contains(&signature));
        at.is_some_and(|at| {
            lines[..at].iter().rev().take_while(|line| !line.trim().is_empty()).any(|line| {
                ["#[test]", "#[tokio::test", "#[rstest"]
                    .iter()
                    .any(|kind| line.trim().starts_with(kind))
            })
        })
    })
}

fn collect(folder: &Path, stem: &str, files: &mut Vec<PathBuf>) {
    for entry in read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, stem, files);
        } else if path.file_stem().is_some_and(|name| name == stem)
            && path.extension().is_some_and(|extension| extension == "rs")
        {
            files.push(path);
        }
    }
}

/// Every test that the last cell of a row names; how many there are.
fn proven(page: &str) -> usize {
    let mut proven = 0;
    for row in rows(page) {
        let (id, proof) = (row[0], row[3]);
        if proof == "open" {
            continue;
        }
        for name in proof.split(", ") {
            let name = name.trim_matches('`');
            let is_there = match name.strip_prefix("cases/") {
                Some(folder) => is_case(folder, proof),
                None => exists(name),
            };
            assert!(is_there, "{id}: there is no test {name}");
            proven += 1;
        }
    }
    proven
}

#[test]
fn every_test_that_the_requirements_and_the_threats_name_exists() {
    for name in ["requirements", "security"] {
        assert!(proven(&page_of(name)) > 0, "nothing is proven in {name}");
    }
}

/// Every module of every crate, as `llsd-plan::config::providers`.
fn modules() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for folder in crates() {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let names = Crate::load(&folder).map(|read| read.module_names()).unwrap_or_default();
        found.extend(names.iter().map(|module| format!("{name}::{module}")));
        found.insert(name);
    }
    found
}

#[test]
fn every_place_that_the_requirements_name_exists() {
    let (page, modules) = (page(), modules());
    let mut missing = String::new();
    for row in rows(&page) {
        for place in row[2].split(", ").map(|place| place.trim_matches('`')) {
            if !modules.contains(place) && !repository().join(place).exists() {
                let _ = writeln!(missing, "{}: there is no {place}", row[0]);
            }
        }
    }
    assert!(missing.is_empty(), "\n{missing}");
}

#[test]
fn every_requirement_has_its_row_once() {
    let page = page();
    let ids: Vec<&str> = rows(&page).iter().map(|row| row[0]).collect();
    let distinct: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), distinct.len(), "an id stands twice");
    let count = |prefix: &str| ids.iter().filter(|id| id.starts_with(prefix)).count();
    assert_eq!([count("FR-"), count("NFR-"), count("US"), count("EC-")], [69, 6, 21, 6]);
}
