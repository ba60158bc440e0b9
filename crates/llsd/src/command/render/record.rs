//! What runs of `llsd render -o dir=` wrote, in a file beside it, so that the next one can write over its own files
//! and remove those that are no longer rendered, and no others: only files that are still as they were written.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use llsd_plan::values::sha256;

use crate::command::whole_file;

/// kubectl takes no file of such a name.
const NAME: &str = ".llsd-rendered";

/// Files by their paths below the folder, each with the hash of its text, as `sha256sum` has them.
#[derive(Debug, Default)]
pub(super) struct Record(BTreeMap<PathBuf, String>);

/// A file that would be written over, and was not left so by an earlier run.
#[derive(Debug)]
pub(super) struct Stranger {
    pub(super) file: String,
    /// An earlier run wrote it, and it was changed since.
    pub(super) is_changed: bool,
}

/// What became of the files of an earlier run.
#[derive(Debug, Default)]
pub(super) struct Leftover {
    pub(super) removed: Vec<String>,
    pub(super) kept: Vec<String>,
}

impl Record {
    /// The record of the folder, which is empty where there is none. What it cannot have written is left out.
    pub(super) fn read(root: &Path) -> Result<Self, String> {
        let path = root.join(NAME);
        let text = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Ok(found) if found.is_file() => fs::read_to_string(&path),
            Ok(_) => {
                let path = path.display();
                return Err(format!("{path}: there is something that is not a plain file"));
            }
            Err(error) => Err(error),
        };
        let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
        let lines = text.lines().filter_map(|line| line.split_once("  "));
        let files = lines.map(|(hash, path)| (PathBuf::from(path), hash.to_owned()));
        Ok(Self(files.filter(|(path, _)| is_below(path)).collect()))
    }

    /// Notes a file that was written.
    pub(super) fn add(&mut self, path: &Path, text: &str) {
        self.0.insert(path.to_owned(), sha256::hex(text));
    }

    /// The files that are there with another text than the new one, and not as an earlier run left them.
    pub(super) fn strangers(
        &self,
        root: &Path,
        files: &[(PathBuf, &str)],
    ) -> Result<Vec<Stranger>, String> {
        let mut strangers = Vec::new();
        for (path, text) in files {
            let file = root.join(path);
            let there = match fs::read(&file) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(format!("{}: {error}", file.display())),
                Ok(there) => there,
            };
            let recorded = self.0.get(path);
            if there != text.as_bytes() && recorded.is_none_or(|hash| !has_hash(there, hash)) {
                let file = file.display().to_string();
                strangers.push(Stranger { file, is_changed: recorded.is_some() });
            }
        }
        Ok(strangers)
    }

    pub(super) fn write(&self, root: &Path) -> Result<(), String> {
        let mut text = String::new();
        for (path, hash) in &self.0 {
            let _ = writeln!(text, "{hash}  {}", path.display());
        }
        let path = root.join(NAME);
        fs::create_dir_all(root)
            .and_then(|()| whole_file::write(&path, &text))
            .map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Removes the files that were not written again, and folders that are empty then. Those that are kept stay in
    /// the record, so that the next run names them, too.
    pub(super) fn remove_all_but(
        &mut self,
        root: &Path,
        written: &BTreeSet<&Path>,
        is_plain: fn(&Path, &Path) -> Result<(), String>,
    ) -> Result<Leftover, String> {
        let mut leftover = Leftover::default();
        let left = self.0.keys().filter(|path| !written.contains(path.as_path()));
        for path in left.cloned().collect::<Vec<PathBuf>>() {
            let file = root.join(&path);
            let shown = file.display().to_string();
            let is_ours = match fs::read(&file) {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    self.0.remove(&path);
                    continue;
                }
                Err(_) => false,
                Ok(text) => self.0.get(&path).is_some_and(|hash| has_hash(text, hash)),
            };
            if !is_ours || is_plain(root, &path).is_err() {
                leftover.kept.push(shown);
                continue;
            }
            fs::remove_file(&file).map_err(|error| format!("{shown}: {error}"))?;
            self.0.remove(&path);
            leftover.removed.push(shown);
            let above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
            // One that is not empty stays.
            above.for_each(|folder| drop(fs::remove_dir(root.join(folder))));
        }
        Ok(leftover)
    }
}

fn has_hash(text: Vec<u8>, hash: &str) -> bool {
    String::from_utf8(text).is_ok_and(|text| sha256::hex(&text) == hash)
}

/// Whether the path leads nowhere else: a resource's folder, the folder for other files, a file.
fn is_below(path: &Path) -> bool {
    let mut components = path.components();
    components.all(|component| matches!(component, Component::Normal(_)))
        && (1..=3).contains(&path.components().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_record_leads_out_of_the_folder() {
        for path in ["a.yaml", "files/env.yaml", "demo.a/files/env.yaml"] {
            assert!(is_below(Path::new(path)), "{path}");
        }
        for path in ["", "..", "../a", "/a", "a/../../b", "./a", "a/b/c/d"] {
            assert!(!is_below(Path::new(path)), "{path}");
        }
    }
}
