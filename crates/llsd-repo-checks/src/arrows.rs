//! Who imports whom: an arrow runs from a file to the file that defines what it names. Handing a name
//! on (`pub use`) and declaring a module are no arrows, and what is reached through a name that was
//! handed on counts for the file that defines it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::modules::{Crate, Module};

/// From a file to another, with the names that the first takes from the second.
pub type Arrow = BTreeMap<(PathBuf, PathBuf), BTreeSet<String>>;

/// All arrows between the files of a crate, as paths below its folder.
pub fn arrows(of: &Crate) -> Arrow {
    let mut found = Arrow::new();
    for (at, module) in &of.modules {
        let imports = module.imports.iter().filter(|import| !import.is_handed_on);
        for path in imports.map(|import| &import.path).chain(&module.paths) {
            if let Some((file, name)) = definition(of, at, path, 0)
                && file != module.file
            {
                let arrow = (module.file.clone(), file.to_owned());
                found.entry(arrow).or_default().insert(name);
            }
        }
    }
    found
}

/// Names that are handed on in a ring never end; no real path is this long.
const DEEPEST: usize = 16;

/// The file that defines what a path names, seen from a module; none for foreign crates, for what
/// cannot be told, and for a module as such.
fn definition<'a>(
    of: &'a Crate,
    at: &[String],
    path: &[String],
    depth: usize,
) -> Option<(&'a Path, String)> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => below(of, &[], rest, depth),
        "self" => below(of, at, rest, depth),
        _ => below(of, at, path, depth),
    }
}

fn below<'a>(
    of: &'a Crate,
    at: &[String],
    path: &[String],
    depth: usize,
) -> Option<(&'a Path, String)> {
    let (first, rest) = path.split_first()?;
    let module: &Module = of.modules.get(at)?;
    if depth > DEEPEST {
        return None;
    }
    if first == "super" {
        return below(of, &at[..at.len().checked_sub(1)?], rest, depth + 1);
    }
    if module.items.contains(first) {
        return Some((&module.file, first.clone()));
    }
    let child = [at, std::slice::from_ref(first)].concat();
    if of.modules.contains_key(&child) {
        return below(of, &child, rest, depth + 1);
    }
    let named = module.imports.iter().filter(|import| import.alias.as_ref() == Some(first));
    let globs = module.imports.iter().filter(|import| import.alias.is_none());
    let through_name = named.map(|import| [&import.path, rest].concat());
    let through_glob = globs.map(|import| [&import.path, path].concat());
    through_name
        .chain(through_glob)
        // A path that begins with its own alias is a foreign crate's: `use time::time`.
        .filter(|longer| longer.as_slice() != path)
        .find_map(|longer| definition(of, at, &longer, depth + 1))
}
