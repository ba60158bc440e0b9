//! The folder that keeps what was fetched or built, shared by all checkouts and processes of one
//! user. A file in it is always whole: it is made under another name and renamed.

use std::{
    env,
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
};

use anyhow::Context;
use tempfile::TempDir;

use super::{
    announce,
    version::{Binary, Kubernetes},
};

#[derive(Debug, Clone)]
pub(super) struct Cache {
    root: PathBuf,
}

/// Held while something is prepared. The operating system lets go of it when the process dies.
#[derive(Debug)]
pub(super) struct CacheLock {
    _file: File,
}

impl Cache {
    pub(super) fn from_env() -> anyhow::Result<Self> {
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

    pub(super) fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Where a program of exactly the pinned release stands.
    pub(super) fn pinned(&self, binary: Binary, kubernetes: Kubernetes) -> PathBuf {
        let product = match binary {
            Binary::Etcd => "etcd",
            _ => "kubernetes",
        };
        self.root.join(product).join(binary.version(kubernetes)).join(binary.file_name())
    }

    /// Where the published archives are unpacked, one folder per release.
    pub(super) fn envtest(&self) -> PathBuf {
        self.root.join("envtest")
    }

    /// A program that an earlier run left here.
    pub(super) fn find(&self, binary: Binary, kubernetes: Kubernetes) -> Option<PathBuf> {
        let pinned = self.pinned(binary, kubernetes);
        if pinned.is_file() {
            return Some(pinned);
        }
        let of_this_minor = format!("{}.", kubernetes.minor());
        fs::read_dir(self.envtest())
            .ok()?
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(&of_this_minor))
            .map(|entry| entry.path().join(binary.file_name()))
            .find(|path| path.is_file())
    }

    /// A folder to make something in before it is renamed to its place beside it. What an ended
    /// process left half made goes first, which is why the lock has to be shown.
    pub(super) fn staging(beside: &Path, _: &CacheLock) -> anyhow::Result<TempDir> {
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

    /// Waits until no other process prepares anything in this cache: two builds at once would do
    /// the same work twice and take longer than one after the other.
    pub(super) fn lock(&self) -> anyhow::Result<CacheLock> {
        fs::create_dir_all(&self.root)
            .with_context(|| format!("cannot create the cache folder {}", self.root.display()))?;
        let path = self.root.join("lock");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .with_context(|| format!("cannot open {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                announce(&format!(
                    "waiting for another process that prepares the control plane ({})",
                    path.display()
                ));
                file.lock()?;
            }
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        Ok(CacheLock { _file: file })
    }
}
