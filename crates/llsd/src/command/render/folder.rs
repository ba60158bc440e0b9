//! Writes folders of files, and removes those of an earlier run that are not written again. Names come from
//! resources that other people may have written, so only plain names are taken, and only plain files are
//! written over: no link is followed out of the folder. Everything is looked at before anything is written.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use llsd_offline::render::Folder;

use super::record::Record;

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

/// Writes all folders below `root`; the error says what is in the way.
pub(super) fn write(root: &Path, folders: &[Folder]) -> Result<FolderChanges, String> {
    let files = files(folders)?;
    for (path, _) in &files {
        is_free(root, path)?;
    }
    let earlier = Record::read(root)?;
    let mut done = FolderChanges::default();
    for (path, text) in &files {
        let file = root.join(path);
        let folder = file.parent().unwrap_or(root);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&file, text))
            .map_err(|error| format!("{}: {error}", file.display()))?;
        done.written.push(file.display().to_string());
    }
    let written: BTreeSet<&Path> = files.iter().map(|(path, _)| path.as_path()).collect();
    let left = earlier.remove_all_but(root, &written, is_free)?;
    done.removed = left.removed;
    done.kept = left.kept;
    Record::of(&files).write(root)?;
    Ok(done)
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
