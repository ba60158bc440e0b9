//! The folder in which everything of a node is, and what lies where in it.

use std::path::{Path, PathBuf};

use crate::addresses::MachineNumber;

/// What the names of all such folders begin with.
pub(crate) const PREFIX: &str = "llsd-node-";

/// A node's folder. The janitor makes it and removes it.
#[derive(Debug, Clone)]
pub(crate) struct StateFolder(PathBuf);

impl StateFolder {
    /// A name that no other node has. The folder is not there yet.
    pub(crate) fn new_name() -> Self {
        let random: String = std::iter::repeat_with(fastrand::alphanumeric).take(8).collect();
        Self(std::env::temp_dir().join(format!("{PREFIX}{}", random.to_lowercase())))
    }

    pub(crate) fn at(path: PathBuf) -> Self {
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The folder's own name, which is also that of the node's cgroups.
    pub(crate) fn name(&self) -> String {
        self.0.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Locked as long as something of the node lives.
    pub(crate) fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }

    /// What another process has to know about the node.
    pub(crate) fn record(&self) -> PathBuf {
        self.0.join("node.json")
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.0.join("kubeconfig")
    }

    pub(crate) fn pki(&self) -> PathBuf {
        self.0.join("pki")
    }

    /// Where the programs write what they say.
    pub(crate) fn logs(&self) -> PathBuf {
        self.0.join("logs")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn machine(&self, machine: MachineNumber) -> MachineFolder {
        MachineFolder { path: self.0.join(machine.name()), cgroup: self.name(), machine }
    }
}

/// The part of the folder that belongs to one machine.
#[derive(Debug, Clone)]
pub(crate) struct MachineFolder {
    path: PathBuf,
    cgroup: String,
    machine: MachineNumber,
}

impl MachineFolder {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Its cgroup, as seen from the root of each hierarchy.
    pub(crate) fn cgroup(&self) -> String {
        format!("/{}/{}", self.cgroup, self.machine.name())
    }
}
