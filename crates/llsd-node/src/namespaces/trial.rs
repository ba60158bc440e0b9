//! What this machine refuses of what a node needs: tried, because a list of kernels, container engines
//! and security modules would never be complete.

use std::{
    fs,
    os::unix::{fs::MetadataExt, process::CommandExt},
    process::{Command, Stdio},
};

use anyhow::{Context, ensure};

const TRIAL: &str = include_str!("trial.sh");

/// One line for each thing that is refused.
pub(crate) fn refusals() -> anyhow::Result<Vec<String>> {
    if fs::metadata("/proc/self")?.uid() != 0 {
        return Ok(vec!["the rights of root".to_owned()]);
    }
    let folder = std::env::temp_dir().join(format!("llsd-trial-{:08x}", fastrand::u32(..)));
    let tried = Command::new("sh")
        .args(["-c", TRIAL, "trial"])
        .arg(folder)
        .arg(TRIAL)
        .stdin(Stdio::null())
        // Ctrl-C must not end it before it has cleaned up.
        .process_group(0)
        .output()
        .context("cannot run sh")?;
    ensure!(tried.status.success(), "{}", String::from_utf8_lossy(&tried.stderr).trim());
    Ok(String::from_utf8_lossy(&tried.stdout).lines().map(str::to_owned).collect())
}
