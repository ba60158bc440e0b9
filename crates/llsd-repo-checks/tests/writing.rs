//! Pages are written in the words of `docs/writing.md`, which lists the words that are avoided.

use std::fmt::Write;
use std::fs::{read_dir, read_to_string};
use std::path::{Path, PathBuf};

use llsd_repo_checks::{Avoided, avoided, repository, uses};

fn list() -> Vec<Avoided> {
    avoided(&read_to_string(repository().join("docs/writing.md")).unwrap())
}

/// The files below a folder with this ending.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { files(&path, ending) } else { vec![path] })
        .filter(|path| path.to_string_lossy().ends_with(ending))
        .collect()
}

#[test]
fn pages_and_messages_avoid_the_words_that_we_do_not_use() {
    let (root, list) = (repository(), list());
    let mut all = files(&root.join("docs"), ".md");
    // What the golden cases show of the messages.
    all.extend(files(&root.join("crates/llsd-plan/tests/cases"), "findings.txt"));
    all.extend(["README.md", "CONTRIBUTING.md"].map(|name| root.join(name)));
    all.sort();
    let mut found = String::new();
    for page in all {
        let name = page.strip_prefix(&root).unwrap().display();
        for one in uses(&list, &read_to_string(&page).unwrap()) {
            let _ = writeln!(found, "{name}:{}: `{}`: {}", one.line, one.turn, one.instead);
        }
    }
    assert!(found.is_empty(), "docs/writing.md says what to write instead:\n{found}");
}

#[test]
fn the_list_is_read_from_the_page() {
    let list = list();
    assert!(list.len() > 10, "{list:?}");
    assert!(list.iter().all(|row| !row.instead.is_empty()), "{list:?}");
}

const PAGE: &str = "
# Writing

`not of the list`

## Words that we do not use

| instead of | write | fine in |
|---|---|---|
| `is no`, `are no` | \"is not a\" | `there is no`, `is no longer` |
| `take … away` | \"remove\" | |
";

/// Lines and turns that are found in a text.
fn found(text: &str) -> Vec<(usize, String)> {
    uses(&avoided(PAGE), text).into_iter().map(|one| (one.line, one.turn)).collect()
}

#[test]
fn words_are_found_in_prose_over_the_ends_of_lines() {
    let is_no = |line| (line, "is no".to_owned());
    assert_eq!(found("# A\n\nThis is no file. That is\n  no file."), [is_no(3), is_no(3)]);
    assert_eq!(found("| *Is no* | - |"), [is_no(1)]);
    assert_eq!(found("[this is no](a.md) page"), [is_no(1)]);
    assert_eq!(found("They are no pages"), [(1, "are no".to_owned())]);
    assert_eq!(found("Take the last part away."), [(1, "take … away".to_owned())]);
}

#[test]
fn longer_turns_code_addresses_and_ends_of_sentences_are_left_alone() {
    for text in [
        "There is no file, and it\nis no longer there.",
        "this `is no` code",
        "```\nis no\n```",
        "  ~~~sh\nis no\n  ~~~\n",
        "[page](what is no page.md)",
        "<!-- is no -->",
        "What it is. No file is there.",
        "| what it is | no |",
        "what it is\n\nno",
        "this is not, his none",
        "Take it. Away with it.",
        "take one or two or three or four away",
    ] {
        assert_eq!(found(text), [], "{text}");
    }
}
