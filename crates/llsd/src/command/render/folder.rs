//! Writes folders of files. Names come from resources that somebody else may have written, so only
//! plain names are taken, and only plain files are written over: no link is followed out of the
//! folder. Everything is looked at before anything is written.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use llsd_offline::render::Folder;

/// Writes all folders below `root` and returns the files; the error says what is in the way.
pub(super) fn write(root: &Path, folders: &[Folder]) -> Result<Vec<String>, String> {
    let mut names = BTreeSet::new();
    for folder in folders {
        if let Some(name) = &folder.name {
            if !names.insert(name) {
                return Err(format!("the input holds the resource {name} twice"));
            }
            plain(name)?;
            expect(&root.join(name), "a folder", fs::Metadata::is_dir)?;
        }
        for (name, _) in &folder.files {
            plain(name)?;
            expect(&path(root, folder).join(name), "a plain file", fs::Metadata::is_file)?;
        }
    }
    let mut written = Vec::new();
    for folder in folders {
        let path = path(root, folder);
        fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        for (name, text) in &folder.files {
            let file = path.join(name);
            fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
            written.push(file.display().to_string());
        }
    }
    Ok(written)
}

fn path(root: &Path, folder: &Folder) -> PathBuf {
    folder.name.as_ref().map_or_else(|| root.to_owned(), |name| root.join(name))
}

fn plain(name: &str) -> Result<(), String> {
    let mut components = Path::new(name).components();
    match (components.next(), components.next()) {
        (Some(Component::Normal(only)), None) if only == name && !name.contains('\\') => Ok(()),
        _ => Err(format!("{name:?} cannot be the name of a file or folder")),
    }
}

/// Nothing there, or what is expected; a link is never what is expected.
fn expect(path: &Path, what: &str, fits: fn(&fs::Metadata) -> bool) -> Result<(), String> {
    match fs::symlink_metadata(path) {
        Ok(found) if !fits(&found) => {
            Err(format!("{}: there is something that is not {what}", path.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_are_written() {
        for name in ["env.yaml", "demo.a", "..a"] {
            assert_eq!(plain(name), Ok(()));
        }
        for name in ["", ".", "..", "a/b", "../a", "/a", "a/", "./a", "a\\b"] {
            assert!(plain(name).is_err(), "{name}");
        }
    }
}
