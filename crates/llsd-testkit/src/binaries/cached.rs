//! Where in the cache the programs of a control plane are.

use std::{fs, path::PathBuf};

use super::version::{Binary, Kubernetes};
use crate::cache::Cache;

impl Cache {
    /// Where a program of exactly the pinned release stands.
    pub(super) fn pinned(&self, binary: Binary, kubernetes: Kubernetes) -> PathBuf {
        binary.go_program(kubernetes).cached(self)
    }

    /// Where the published archives are unpacked, one folder per release.
    pub(super) fn envtest(&self) -> PathBuf {
        self.root().join("envtest")
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
}
