//! Functions stay short, and a name means one type in a crate.

use std::fmt::Write;
use std::fs::{create_dir_all, write};
use std::path::Path;

use llsd_repo_checks::{crates, functions, types};

/// The most lines of a function, from its `fn` to its closing brace.
const LONGEST: usize = 60;

/// Names that are a convention, where a path says whose it is: each command takes its flags as
/// `Arguments` (`logs::Arguments`), and a module that fails in ways of its own has an `Error`.
const CONVENTIONS: [&str; 2] = ["Arguments", "Error"];

/// The earlier version of the API names its fields as the later one does, and code names both by their
/// version.
const EARLIER_VERSION: &str = "src/v1alpha1.rs";

fn too_long(folder: &Path) -> String {
    let mut lines = String::new();
    for function in functions(folder).iter().filter(|function| function.lines > LONGEST) {
        let file = folder.join(&function.file);
        let _ = writeln!(lines, "{}: {} has {}", file.display(), function.name, function.lines);
    }
    lines
}

fn defined_twice(folder: &Path) -> String {
    let mut lines = String::new();
    let all = types(folder);
    let twice = all.iter().filter(|(name, files)| {
        let others = files.iter().filter(|file| file.as_path() != Path::new(EARLIER_VERSION));
        others.count() > 1 && !CONVENTIONS.contains(&name.as_str())
    });
    for (name, files) in twice {
        let files: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
        let _ = writeln!(lines, "{}: {name} is in {}", folder.display(), files.join(", "));
    }
    lines
}

#[test]
fn no_function_is_longer_than_sixty_lines() {
    let found: String = crates().iter().map(|folder| too_long(folder)).collect();
    assert!(found.is_empty(), "split along named steps:\n{found}");
}

#[test]
fn no_two_types_of_a_crate_have_one_name() {
    let found: String = crates().iter().map(|folder| defined_twice(folder)).collect();
    assert!(found.is_empty(), "name each for what it is:\n{found}");
}

/// What is found in a crate with these files: functions that are too long, and types.
fn found_in(files: &[(&str, &str)]) -> (usize, usize) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join("src").join(name);
        create_dir_all(path.parent().unwrap()).unwrap();
        write(path, text).unwrap();
    }
    let (long, twice) = (too_long(folder.path()), defined_twice(folder.path()));
    (long.lines().count(), twice.lines().count())
}

#[test]
fn a_function_of_sixty_one_lines_is_found_wherever_it_stands() {
    let of = |lines: usize| format!("fn long() {{\n{}}}\n", "    work();\n".repeat(lines - 2));
    assert_eq!(found_in(&[("lib.rs", &of(60))]), (0, 0));
    assert_eq!(found_in(&[("lib.rs", &of(61))]), (1, 0));
    assert_eq!(found_in(&[("a.rs", &format!("impl A {{\n{}}}\n", of(61)))]), (1, 0));
    assert_eq!(found_in(&[("a/b.rs", &format!("trait A {{\n{}}}\n", of(61)))]), (1, 0));
    assert_eq!(found_in(&[("a.rs", &format!("mod tests {{\n{}}}\n", of(61)))]), (1, 0));
}

#[test]
fn a_name_of_two_types_is_found_unless_one_is_for_tests_or_local() {
    let one = ("one.rs", "pub struct Held;");
    assert_eq!(found_in(&[one, ("two.rs", "enum Held {}")]), (0, 1));
    assert_eq!(found_in(&[one, ("two.rs", "mod two { type Held = u8; }")]), (0, 1));
    assert_eq!(found_in(&[one, ("two.rs", "#[cfg(test)] mod tests { struct Held; }")]), (0, 0));
    assert_eq!(found_in(&[one, ("two/tests.rs", "struct Held;")]), (0, 0));
    assert_eq!(found_in(&[one, ("two.rs", "fn local() { struct Held; }")]), (0, 0));
}
