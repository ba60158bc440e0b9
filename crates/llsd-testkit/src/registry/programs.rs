//! The Debian programs that the registry needs. A missing one is installed, which is said.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, bail};

use super::User;

/// The program's path, installing Debian's `package` if it is not there.
pub fn locate(program: &str, package: &str) -> anyhow::Result<PathBuf> {
    if let Some(path) = in_path(program) {
        return Ok(path);
    }
    eprintln!("{program} is missing: installing the Debian package {package}");
    for arguments in [&["update"][..], &["install", "--yes", "--no-install-recommends", package]] {
        let done = Command::new("apt-get")
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .output()
            .with_context(|| format!("{program} is missing, and there is no apt-get"))?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            bail!("{program} is missing; apt-get {} failed: {}", arguments[0], said.trim());
        }
    }
    in_path(program).with_context(|| format!("the package {package} brought no {program}"))
}

fn in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| is_file(file))
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file())
}

/// The lines of an htpasswd file in bcrypt, the only form that the registry takes.
pub(super) fn htpasswd(users: &[User]) -> anyhow::Result<String> {
    let program = locate("htpasswd", "apache2-utils")?;
    let mut lines = String::new();
    for user in users {
        // The lowest cost: these passwords protect nothing.
        let made = Command::new(&program)
            .args(["-n", "-b", "-B", "-C", "4", &user.name, &user.password])
            .output()?;
        if !made.status.success() {
            bail!("htpasswd failed: {}", String::from_utf8_lossy(&made.stderr).trim());
        }
        lines.push_str(String::from_utf8_lossy(&made.stdout).trim());
        lines.push('\n');
    }
    Ok(lines)
}
