//! The folder that keeps what was fetched or built, shared by all checkouts and processes of one
//! user. A file in it is always whole: it is made under another name and renamed.

use std::{
    env,
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
};

use anyhow::Context;
use tempfile::TempDir;

use crate::announce::announce;

#[derive(Debug, Clone)]
pub(crate) struct Cache {
    root: PathBuf,
}

/// Held while something is prepared. The operating system lets go of it when the process dies.
#[derive(Debug)]
pub(crate) struct CacheLock {
    _file: File,
}

impl Cache {
    pub(crate) fn from_env() -> anyhow::Result<Self> {
        let set = |name| env::var_os(name).filter(|value| !value.is_empty());
        let root = if let Some(root) = set("LLSD_CACHE") {
            PathBuf::from(root)
        } else if let Some(caches) = set("XDG_CACHE_HOME") {
            PathBuf::from(caches).join("llsd")
        } else {
            let home = set("HOME").context("none of LLSD_CACHE, XDG_CACHE_HOME and HOME is set")?;
            PathBuf::from(home).join(".cache/llsd")
        };
        Ok(Self::at(root))
    }

    pub(crate) fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A folder to make something in before it is renamed to its place beside it. What an ended
    /// process left half made goes first, which is why the lock has to be shown.
    pub(crate) fn staging(beside: &Path, _: &CacheLock) -> anyhow::Result<TempDir> {
        const PREFIX: &str = ".part-";
        let folder = beside.parent().context("the cache folder has no parent")?;
        fs::create_dir_all(folder)?;
        for entry in fs::read_dir(folder)?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(PREFIX) {
                fs::remove_dir_all(entry.path())?;
            }
        }
        let staging = tempfile::Builder::new().prefix(PREFIX).tempdir_in(folder)?;
        Ok(staging)
    }

    /// Waits until no other process prepares `what` in this cache: two at once would do the same
    /// work twice and take longer than one after the other.
    pub(crate) fn lock(&self, file: &str, what: &str) -> anyhow::Result<CacheLock> {
        let path = self.root.join(file);
        let folder = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create the cache folder {}", folder.display()))?;
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .with_context(|| format!("cannot open {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                announce(
                    what,
                    &format!("waiting for another process that prepares it ({})", path.display()),
                );
                file.lock()?;
            }
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        Ok(CacheLock { _file: file })
    }
}
