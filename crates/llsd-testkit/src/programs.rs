//! Debian programs that the servers of the kit are. A missing one is installed, which is said.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, bail};

use crate::{announce::announce, cache::Cache, skip::Unobtainable};

/// The program's path, installing Debian's `package` if it is not there.
pub fn locate(program: &str, package: &str) -> Result<PathBuf, Unobtainable> {
    found_or_installed(program, package, &|| find(program))
}

/// The same for a file that is no program, such as a header, by its whole path.
pub fn locate_file(file: &str, package: &str) -> Result<PathBuf, Unobtainable> {
    let path = PathBuf::from(file);
    found_or_installed(file, package, &|| is_file(&path).then(|| path.clone()))
}

type Find<'a> = &'a dyn Fn() -> Option<PathBuf>;

fn found_or_installed(what: &str, package: &str, find: Find) -> Result<PathBuf, Unobtainable> {
    if let Some(path) = find() {
        return Ok(path);
    }
    install(what, package, find)
        .map_err(|error| Unobtainable(format!("{what} is missing: {error:#}")))
}

fn install(program: &str, package: &str, find: Find) -> anyhow::Result<PathBuf> {
    // apt-get does not wait for another one.
    let _lock = Cache::from_env()?.lock("apt-get.lock", package)?;
    if let Some(path) = find() {
        return Ok(path);
    }
    announce(program, &format!("missing: installing the Debian package {package}"));
    for arguments in [&["update"][..], &["install", "--yes", "--no-install-recommends", package]] {
        let done = Command::new("apt-get")
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            // Tests start their own; the package must not start a service beside them.
            .env("RUNLEVEL", "1")
            .output()
            .context("there is no apt-get")?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            bail!("apt-get {} failed: {}", arguments[0], said.trim());
        }
    }
    find().with_context(|| format!("the package {package} brought no {program}"))
}

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // A user's PATH may lack the folder of the system's own programs.
    let system = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let folders = std::env::split_paths(&path).chain(system).chain(off_the_path());
    folders.map(|dir| dir.join(program)).find(|file| is_file(file))
}

/// Where Debian keeps the programs of Postgres, the newest major version first.
fn off_the_path() -> Vec<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let major = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let mut folders: Vec<PathBuf> = versions.map(|entry| entry.path()).collect();
    folders.sort_by_key(|path| std::cmp::Reverse(major(path)));
    folders.into_iter().map(|path| path.join("bin")).collect()
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file())
}
