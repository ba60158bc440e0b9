//! What this machine refuses of what a node needs: tried, because a list of kernels, container engines
//! and security modules would never be complete.

use std::{fs, os::unix::fs::MetadataExt, path::Path, process::Command};

const TRIAL: &str = include_str!("trial.sh");
const CGROUPS: &str = "/sys/fs/cgroup";

/// One line for each thing that is refused.
pub(crate) fn refusals() -> anyhow::Result<Vec<String>> {
    if fs::metadata("/proc/self")?.uid() != 0 {
        return Ok(vec!["the rights of root".to_owned()]);
    }
    let folder = std::env::temp_dir().join(format!("llsd-trial-{:08x}", fastrand::u32(..)));
    fs::create_dir(&folder)?;
    let mut refused = in_namespaces(&folder);
    fs::remove_dir_all(&folder)?;
    refused.extend(cgroups());
    Ok(refused)
}

fn in_namespaces(folder: &Path) -> Vec<String> {
    let tried = Command::new("unshare")
        .args(["--mount", "--net", "--pid", "--ipc", "--fork", "--propagation", "private"])
        .args(["--", "sh", "-c", TRIAL, "trial"])
        .arg(folder)
        .output();
    let Ok(tried) = tried else { return vec!["the program unshare".to_owned()] };
    let said = String::from_utf8_lossy(&tried.stdout);
    let mut refused: Vec<String> = said.lines().map(str::to_owned).collect();
    let complaint = String::from_utf8_lossy(&tried.stderr);
    if let Some(complaint) = complaint.lines().find(|line| line.starts_with("unshare:")) {
        refused.push(format!("private namespaces ({complaint})"));
    }
    refused
}

/// A group of this trial's own in one hierarchy of each version that is mounted.
fn cgroups() -> Option<String> {
    let roots = [CGROUPS.to_owned(), format!("{CGROUPS}/memory")];
    let Some(root) = roots.iter().find(|root| Path::new(root).join("cgroup.procs").exists()) else {
        return Some(format!("control groups (none in {CGROUPS})"));
    };
    let group = Path::new(root).join(format!("llsd-trial-{:08x}", fastrand::u32(..)));
    let made = fs::create_dir(&group).and_then(|()| fs::remove_dir(&group));
    made.err().map(|error| format!("control groups ({}: {error})", group.display()))
}
