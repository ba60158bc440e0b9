//! Nodes that other processes started on this machine, and what is left of those that could not clear
//! away behind themselves.

use std::{
    ffi::OsStr,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::{
    namespaces::enter,
    state::{PREFIX, StateFolder},
};

/// What a node says about itself in its folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NodeRecord {
    /// The process that started it, and with which it ends.
    pub started_by: u32,
    pub kubeconfig: PathBuf,
    /// The open registry, as it is reached from outside.
    pub registry: String,
    pub logs: PathBuf,
    /// Where its programs are.
    pub path: String,
    pub machines: Vec<MachineRecord>,
}

/// A machine that runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MachineRecord {
    pub name: String,
    /// Its first process, by its number outside.
    pub first_process: u32,
}

impl NodeRecord {
    pub(crate) fn write(&self, state: &StateFolder) -> anyhow::Result<()> {
        // Renamed, so that a reader never sees half of it.
        let half_written = state.file("node.json.part");
        fs::write(&half_written, serde_json::to_vec_pretty(self)?)?;
        fs::rename(&half_written, state.record())?;
        Ok(())
    }

    /// A command in a machine, with the kubeconfig and the PATH of the node.
    pub fn command(&self, machine: &MachineRecord, program: impl AsRef<OsStr>) -> Command {
        let mut command = enter(machine.first_process, program);
        command
            .env("PATH", &self.path)
            .env("KUBECONFIG", &self.kubeconfig)
            // Without it `ctr` shows another namespace, in which there are no containers.
            .env("CONTAINERD_NAMESPACE", "k8s.io");
        command
    }
}

/// A node that runs.
#[derive(Debug, Clone)]
pub struct FoundNode {
    pub folder: PathBuf,
    pub record: NodeRecord,
}

/// How long it takes to clear away gigabytes of images.
const CLEARING: Duration = Duration::from_mins(2);

impl FoundNode {
    /// Ends it from outside, and waits until it has cleared away behind itself.
    pub fn stop(&self) -> anyhow::Result<()> {
        let first = self.record.machines.first().context("it has no machine")?.first_process;
        // A number may have been given to another process meanwhile.
        let environment = fs::read(format!("/proc/{first}/environ")).unwrap_or_default();
        let folder = self.folder.as_os_str().as_encoded_bytes();
        let is_ours = environment.windows(folder.len()).any(|found| found == folder);
        ensure!(is_ours, "process {first} is not that of {}", self.folder.display());
        let killed = Command::new("sh").args(["-c", &format!("kill -TERM {first}")]).status()?;
        ensure!(killed.success(), "cannot end process {first}");
        let asked = Instant::now();
        while self.folder.exists() {
            if asked.elapsed() > CLEARING {
                bail!("{} is still there", self.folder.display());
            }
            thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}

/// Those that run now, and those that are coming up.
pub fn running_nodes() -> anyhow::Result<Vec<FoundNode>> {
    let mut found = Vec::new();
    for state in folders()? {
        let record = fs::read(state.record()).ok();
        let record = record.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        if let (Some(record), false) = (record, is_abandoned(&state)) {
            found.push(FoundNode { folder: state.path().to_owned(), record });
        }
    }
    Ok(found)
}

/// Removes the cgroups and folders of nodes whose janitor was killed, and gives the folders.
pub fn clear_away_leftovers() -> anyhow::Result<Vec<PathBuf>> {
    let mut cleared = Vec::new();
    for state in folders()?.into_iter().filter(is_abandoned) {
        remove_cgroups(&state.name());
        fs::remove_dir_all(state.path())?;
        cleared.push(state.path().to_owned());
    }
    Ok(cleared)
}

fn folders() -> anyhow::Result<Vec<StateFolder>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(std::env::temp_dir())?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            found.push(StateFolder::at(entry.path()));
        }
    }
    Ok(found)
}

/// Every process of a node holds its lock, from the moment that it is there.
fn is_abandoned(state: &StateFolder) -> bool {
    File::open(state.lock()).is_ok_and(|file| file.try_lock().is_ok())
}

/// As the janitor would have done; what is busy stays.
fn remove_cgroups(name: &str) {
    let hierarchies = fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten();
    let roots = hierarchies.map(|entry| entry.path()).chain([PathBuf::from("/sys/fs/cgroup")]);
    for root in roots {
        remove_group(&root.join(name));
    }
}

/// The files of a cgroup go with it; only groups within have to go before.
fn remove_group(group: &Path) {
    for entry in fs::read_dir(group).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_group(&entry.path());
        }
    }
    let _ = fs::remove_dir(group);
}
