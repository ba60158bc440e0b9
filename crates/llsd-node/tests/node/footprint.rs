//! What a node could leave on a machine: processes, mounts, cgroups, kernel settings, network devices,
//! folders.

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// Settings of the whole kernel that a kubelet changes.
const SETTINGS: [&str; 4] =
    ["vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops"];

/// Where the programs of a node write unless they are told otherwise.
const FOLDERS: [&str; 9] = [
    "/etc/cni",
    "/etc/containerd",
    "/etc/kubernetes",
    "/opt/cni",
    "/run/containerd",
    "/usr/libexec/kubernetes",
    "/var/lib/cni",
    "/var/lib/containerd",
    "/var/lib/kubelet",
];

/// Everything of it at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Footprint {
    mounts: Vec<String>,
    cgroups: Vec<PathBuf>,
    pub settings: Vec<String>,
    devices: Vec<String>,
    folders: Vec<PathBuf>,
    /// Processes that name a folder of a node in their command or their environment.
    processes: Vec<String>,
}

impl Footprint {
    /// Of the nodes whose folders are in `temporary`.
    pub fn now(temporary: &Path) -> Self {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let settings = SETTINGS.map(|name| {
            format!("{name}={}", fs::read_to_string(format!("/proc/sys/{name}")).unwrap().trim())
        });
        let left = entries(temporary).filter(|path| is_of_a_node(path));
        let fixed = FOLDERS.iter().map(PathBuf::from).filter(|path| path.exists());
        Self {
            mounts: mounts.lines().map(str::to_owned).collect(),
            cgroups: cgroups(),
            settings: settings.to_vec(),
            devices: names("/sys/class/net"),
            folders: left.chain(fixed).collect(),
            processes: processes(&temporary.join("llsd-").display().to_string()),
        }
    }

    /// Waits until all is again as it was.
    pub fn nothing_is_left(&self, temporary: &Path) {
        let asked = Instant::now();
        loop {
            let now = Self::now(temporary);
            if now == *self {
                return;
            }
            assert!(asked.elapsed() < Duration::from_mins(1), "left: {now:#?}\nbefore: {self:#?}");
            thread::sleep(Duration::from_millis(100));
        }
    }
}

fn entries(folder: impl AsRef<Path>) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn is_of_a_node(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // The second is where a start tries what the machine can do.
    ["llsd-node-", "llsd-trial-"].iter().any(|prefix| name.starts_with(prefix))
}

fn names(folder: &str) -> Vec<String> {
    let mut names: Vec<String> = entries(folder).map(|path| path.display().to_string()).collect();
    names.sort();
    names
}

/// Groups of nodes in each hierarchy, of version 1 or 2.
fn cgroups() -> Vec<PathBuf> {
    let hierarchies = entries("/sys/fs/cgroup").filter(|path| path.is_dir());
    let roots = hierarchies.flat_map(|hierarchy| {
        let within: Vec<PathBuf> = entries(&hierarchy).collect();
        within.into_iter().chain([hierarchy])
    });
    roots.filter(|path| is_of_a_node(path)).collect()
}

fn processes(naming: &str) -> Vec<String> {
    let mut found = Vec::new();
    for process in entries("/proc").filter(|path| path.join("cmdline").exists()) {
        for file in ["cmdline", "environ"] {
            let content = fs::read(process.join(file)).unwrap_or_default();
            if String::from_utf8_lossy(&content).contains(naming) {
                let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
                found.push(format!("{} {}", process.display(), name.trim()));
                break;
            }
        }
    }
    found
}
