//! Writes a file whole or not at all: what was there before stays until all of the new text is on the disk.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use std::process;

/// Gives a file this text. One that is there keeps its permissions, and a link stays a link.
pub(super) fn write(file: &Path, text: &str) -> io::Result<()> {
    let (target, before) = match fs::canonicalize(file) {
        Ok(target) => {
            let before = writable(&target)?;
            (target, Some(before))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => (file.to_owned(), None),
        Err(error) => return Err(error),
    };
    let temporary = beside(&target);
    // Until it has the permissions of the file before, nobody else reads it.
    let mode = if before.is_some() { 0o600 } else { 0o666 };
    let new = OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary)?;
    let done = fill(new, text, before.as_ref()).and_then(|()| fs::rename(&temporary, &target));
    if done.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&temporary);
    }
    done
}

/// What is known of a file that may be written: a rename alone would replace any other, too.
fn writable(target: &Path) -> io::Result<Metadata> {
    let found = fs::metadata(target)?;
    if !found.is_file() {
        return Err(io::Error::other("this is no plain file"));
    }
    OpenOptions::new().write(true).open(target)?;
    Ok(found)
}

fn beside(target: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(format!(".llsd-{}", process::id()));
    target.with_file_name(name)
}

fn fill(mut new: File, text: &str, before: Option<&Metadata>) -> io::Result<()> {
    if let Some(before) = before {
        // Only root may give a file away.
        let _ = fchown(&new, Some(before.uid()), Some(before.gid()));
        new.set_permissions(before.permissions())?;
    }
    new.write_all(text.as_bytes())?;
    new.sync_all()
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn the_file_before_stays_whole_and_the_new_one_has_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("stack.yaml");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let link = folder.path().join("link.yaml");
        symlink("stack.yaml", &link).unwrap();
        let mut before = File::open(&file).unwrap();

        write(&link, "new").unwrap();
        let mut text = String::new();
        before.read_to_string(&mut text).unwrap();
        assert_eq!(text, "old", "nobody reads half a file");
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(folder.path().read_dir().unwrap().count(), 2, "nothing else is left");
    }

    #[test]
    fn a_file_that_is_not_there_yet_is_made_and_a_folder_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new.yaml");
        write(&file, "new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        let error = write(folder.path(), "new").unwrap_err();
        assert_eq!(error.to_string(), "this is no plain file");
        assert!(write(&folder.path().join("gone/new.yaml"), "new").is_err());
    }
}
