//! An image that holds no wheels but packages as Python imports them, and says in labels what they are:
//! its tree is copied, into a folder of its own.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use llsd_provider::layout::{PACKAGES, UNPACKED};
use llsd_provider::{Fault, Installed, Package};

/// Files and folders of a tree.
const MOST: usize = 200_000;

/// A tree and the distributions in it.
#[derive(Debug)]
pub(super) struct Unpacked {
    from: PathBuf,
    pub(super) packages: Vec<Package>,
}

impl Unpacked {
    /// The tree of an image's folder; `None` where there is none.
    pub(super) fn find(folder: &Path, id: &str) -> io::Result<Option<Self>> {
        let from = folder.join(PACKAGES);
        if !from.is_dir() {
            return Ok(None);
        }
        let mut packages = Vec::new();
        for entry in fs::read_dir(&from)? {
            packages.extend(Package::of_folder(&entry?.file_name().to_string_lossy(), id));
        }
        packages.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(Some(Self { from, packages }))
    }

    /// Distributions of which another provider brought another version: Python would import that one.
    pub(super) fn conflicts(&self, installed: &Installed) -> Vec<Fault> {
        let conflict = |own: &Package| {
            let other = installed.find(&own.name).filter(|other| other.version != own.version)?;
            let Package { name, version, .. } = own;
            let message = format!(
                "it brings {name} {version}, and the provider {} {}",
                other.provider, other.version
            );
            Some(Fault::new(PACKAGES, message, "bring the same version in both images"))
        };
        self.packages.iter().filter_map(conflict).collect()
    }

    /// Copies the tree to the place of this provider.
    pub(super) fn copy(&self, target: &Path, id: &str) -> io::Result<()> {
        let to = target.join(UNPACKED).join(id);
        if to.exists() {
            fs::remove_dir_all(&to)?;
        }
        copy(&self.from, &to, &mut 0)
    }
}

fn copy(from: &Path, to: &Path, count: &mut usize) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        *count += 1;
        if *count > MOST {
            return Err(io::Error::other(format!("there are more than {MOST} files in it")));
        }
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&entry.path(), &target, count)?;
        } else if kind.is_symlink() {
            symlink(fs::read_link(entry.path())?, target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
