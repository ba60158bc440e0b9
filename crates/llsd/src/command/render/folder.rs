//! Writes folders of files, and removes those of an earlier run that are not written again. Names come from
//! resources that other people may have written, so only plain names are taken, and only plain files are
//! written over: no link is followed out of the folder. Everything is looked at before anything is written, and a
//! file that this command did not write, or that was changed since, is never overwritten.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use llsd_offline::render::Folder;

use super::record::{Record, Stranger};
use crate::command::whole_file;

/// Where files go that are no objects: `kubectl apply -f FOLDER` reads no folder below.
const BESIDE: &str = "files";

/// What was done to a folder.
#[derive(Debug, Default)]
pub(super) struct FolderChanges {
    pub(super) written: Vec<String>,
    pub(super) removed: Vec<String>,
    /// Of an earlier run, but changed by somebody since then.
    pub(super) kept: Vec<String>,
}

/// Why a folder is not written.
#[derive(Debug)]
pub(super) enum InTheWay {
    /// The folder cannot be used, or a file cannot be written.
    Fault(String),
    /// Files would be lost that no earlier run left as they are. Nothing was written.
    Strangers(Vec<Stranger>),
}

impl From<String> for InTheWay {
    fn from(message: String) -> Self {
        Self::Fault(message)
    }
}

/// Writes all folders below `root`.
pub(super) fn write(root: &Path, folders: &[Folder]) -> Result<FolderChanges, InTheWay> {
    let files = files(folders)?;
    for (path, _) in &files {
        is_free(root, path)?;
    }
    let mut record = Record::read(root)?;
    let strangers = record.strangers(root, &files)?;
    if !strangers.is_empty() {
        return Err(InTheWay::Strangers(strangers));
    }
    let mut done = FolderChanges::default();
    let written = write_files(root, &files, &mut record, &mut done);
    // Also where a file could not be written: the next run must know those that were.
    let recorded = record.write(root);
    written?;
    recorded?;
    Ok(done)
}

/// Writes the files, removes what is no longer one of them, and keeps account of both.
fn write_files(
    root: &Path,
    files: &[(PathBuf, &str)],
    record: &mut Record,
    done: &mut FolderChanges,
) -> Result<(), String> {
    for (path, text) in files {
        let file = root.join(path);
        let folder = file.parent().unwrap_or(root);
        fs::create_dir_all(folder)
            .and_then(|()| whole_file::write(&file, text))
            .map_err(|error| format!("{}: {error}", file.display()))?;
        record.add(path, text);
        done.written.push(file.display().to_string());
    }
    let written: BTreeSet<&Path> = files.iter().map(|(path, _)| path.as_path()).collect();
    let left = record.remove_all_but(root, &written, is_free)?;
    done.removed = left.removed;
    done.kept = left.kept;
    Ok(())
}

/// Paths below the root, and texts.
fn files(folders: &[Folder]) -> Result<Vec<(PathBuf, &str)>, String> {
    let mut names = BTreeSet::new();
    let mut files = Vec::new();
    for folder in folders {
        let mut path = PathBuf::new();
        if let Some(name) = &folder.name {
            if !names.insert(name) {
                return Err(format!("the input holds the resource {name} twice"));
            }
            path.push(plain(name)?);
        }
        for (name, text) in &folder.objects {
            files.push((path.join(plain(name)?), text.as_str()));
        }
        for (name, text) in &folder.files {
            files.push((path.join(BESIDE).join(plain(name)?), text.as_str()));
        }
    }
    Ok(files)
}

fn plain(name: &str) -> Result<&str, String> {
    let mut components = Path::new(name).components();
    match (components.next(), components.next()) {
        (Some(Component::Normal(only)), None) if only == name && !name.contains('\\') => Ok(name),
        _ => Err(format!("{name:?} cannot be the name of a file or folder")),
    }
}

/// Whether a file of ours can be there: below folders, and in the place of nothing but a file. A link is
/// neither.
fn is_free(root: &Path, path: &Path) -> Result<(), String> {
    let mut place = root.to_owned();
    let mut components = path.components().peekable();
    while let Some(component) = components.next() {
        place.push(component);
        let (what, fits): (_, fn(&fs::Metadata) -> bool) = match components.peek() {
            Some(_) => ("a folder", fs::Metadata::is_dir),
            None => ("a plain file", fs::Metadata::is_file),
        };
        match fs::symlink_metadata(&place) {
            Ok(found) if !fits(&found) => {
                let place = place.display();
                return Err(format!("{place}: there is something that is not {what}"));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_are_written() {
        for name in ["env.yaml", "demo.a", "..a"] {
            assert_eq!(plain(name), Ok(name));
        }
        for name in ["", ".", "..", "a/b", "../a", "/a", "a/", "./a", "a\\b"] {
            assert!(plain(name).is_err(), "{name}");
        }
    }
}
