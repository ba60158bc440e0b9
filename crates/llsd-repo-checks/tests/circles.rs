//! Imports run downwards: no files of a crate import each other in a circle, and no folders do.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs::{create_dir_all, write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use llsd_repo_checks::{Arrow, Crate, arrows, circles, crates, folder_circles, python_arrows};

/// The circles of one crate with the names that tie them, in lines.
fn described(name: &str, arrows: &Arrow, circles: Vec<BTreeSet<PathBuf>>) -> String {
    let mut lines = String::new();
    for circle in circles {
        let members: Vec<String> = circle.iter().map(|room| room.display().to_string()).collect();
        let _ = writeln!(lines, "{name}: {}", members.join(", "));
        let room_of = |file: &Path| {
            circle.iter().find(|room| file.starts_with(room) || file.with_extension("") == **room)
        };
        for ((from, to), names) in arrows {
            let (room, other) = (room_of(from), room_of(to));
            if room.is_some() && other.is_some() && room != other {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let (from, to) = (from.display(), to.display());
                let _ = writeln!(lines, "  {from} -> {to}: {}", names.join(", "));
            }
        }
    }
    lines
}

/// The arrows of every crate, by its name.
static ARROWS: LazyLock<Vec<(String, Arrow)>> = LazyLock::new(|| {
    let read = |folder: PathBuf| {
        let name = folder.file_name()?.to_string_lossy().into_owned();
        let mut all = arrows(&Crate::load(&folder)?);
        all.extend(python_arrows(&folder));
        Some((name, all))
    };
    crates().into_iter().filter_map(read).collect()
});

fn all(find: impl Fn(&Arrow) -> Vec<BTreeSet<PathBuf>>) -> String {
    ARROWS.iter().map(|(name, arrows)| described(name, arrows, find(arrows))).collect()
}

#[test]
fn no_files_of_a_crate_import_each_other_in_a_circle() {
    let found = all(circles);
    assert!(found.is_empty(), "\n{found}");
}

#[test]
fn no_folders_of_a_crate_import_each_other_in_a_circle() {
    let found = all(folder_circles);
    assert!(found.is_empty(), "\n{found}");
}

/// A crate with these files, and its circles between files and between folders.
fn circles_of(files: &[(&str, &str)]) -> (usize, usize) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join("src").join(name);
        create_dir_all(path.parent().unwrap()).unwrap();
        write(path, text).unwrap();
    }
    let arrows = arrows(&Crate::load(folder.path()).unwrap());
    (circles(&arrows).len(), folder_circles(&arrows).len())
}

#[test]
fn a_circle_is_found_however_it_is_written() {
    let root = ("lib.rs", "mod a; mod b;");
    let b = ("b.rs", "pub fn two() { crate::a::one() }");
    assert_eq!(circles_of(&[root, ("a.rs", "pub fn one() {}"), b]), (0, 0));
    assert_eq!(circles_of(&[root, ("a.rs", "use super::b; pub fn one() { b::two() }"), b]), (1, 1));
    let in_macro = "pub fn one() { println!(\"{:?}\", crate::b::two()) }";
    assert_eq!(circles_of(&[root, ("a.rs", in_macro), b]), (1, 1));
    let in_test = "pub fn one() {} #[cfg(test)] mod tests { use crate::b::two; }";
    assert_eq!(circles_of(&[root, ("a.rs", in_test), b]), (0, 0));
}

#[test]
fn programs_in_python_import_each_other_in_no_circle_either() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("src");
    create_dir_all(&source).unwrap();
    write(source.join("one.py"), "import json\n\ndef f():\n    import two\n").unwrap();
    write(source.join("two.py"), "import os\n").unwrap();
    assert!(circles(&python_arrows(folder.path())).is_empty());
    write(source.join("two.py"), "from one import f\n").unwrap();
    assert_eq!(circles(&python_arrows(folder.path())).len(), 1);
}

#[test]
fn a_name_that_is_handed_on_counts_for_who_defines_it() {
    let handed_on = ("a/mod.rs", "mod c; mod d; pub use c::C; pub use d::D;");
    let files = [("lib.rs", "mod a;"), handed_on, ("a/c.rs", "pub struct C;")];
    let below = ("a/d.rs", "pub struct D(super::C);");
    assert_eq!(circles_of(&[files[0], files[1], files[2], below]), (0, 0));
    let used = ("a/mod.rs", "mod c; mod d; pub struct C; pub fn f() -> d::D { d::D(C) }");
    assert_eq!(circles_of(&[files[0], used, files[2], below]), (1, 1));
}

#[test]
fn folders_can_tie_a_circle_where_no_files_do() {
    let files = [
        ("lib.rs", "mod x; mod y;"),
        ("x/mod.rs", "pub mod one; pub mod two;"),
        ("x/one.rs", "pub fn f() { crate::y::three::h() }"),
        ("x/two.rs", "pub fn g() {}"),
        ("y/mod.rs", "pub mod three; pub mod four;"),
        ("y/three.rs", "pub fn h() {}"),
        ("y/four.rs", "pub fn i() { crate::x::two::g() }"),
    ];
    assert_eq!(circles_of(&files), (0, 1));
}
