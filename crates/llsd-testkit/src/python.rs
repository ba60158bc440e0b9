//! A Python that the releases run on, and the `uv` installer: pip has no way to leave out what was
//! uploaded after a given day.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, bail};

use crate::{
    announce::announce,
    cache::{Cache, CacheLock},
};

/// Old enough for the oldest release, new enough for the newest; the preferred one first.
const MINORS: [&str; 2] = ["3.12", "3.13"];
const UV: &str = "0.13.7";

/// The first Python of a suitable minor that works and can make virtual environments: one of
/// pyenv's, else one on the PATH.
pub(crate) fn find() -> anyhow::Result<PathBuf> {
    let candidates = MINORS.iter().flat_map(|minor| {
        let on_path = PathBuf::from(format!("python{minor}"));
        of_pyenv(minor).into_iter().chain([on_path])
    });
    for python in candidates {
        // pyenv's own `python3.12` command exists and fails while another version is chosen.
        let works = Command::new(&python).args(["-c", "import ensurepip, venv"]).output();
        if works.is_ok_and(|done| done.status.success()) {
            return Ok(python);
        }
    }
    bail!(
        "there is no Python {} with the module venv, neither from pyenv nor on the PATH",
        MINORS.join(" or ")
    )
}

fn of_pyenv(minor: &str) -> Vec<PathBuf> {
    let root = env::var_os("PYENV_ROOT").map(PathBuf::from);
    let root = root.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".pyenv")));
    let versions = root.and_then(|root| fs::read_dir(root.join("versions")).ok());
    let prefix = format!("{minor}.");
    versions
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
        .map(|entry| entry.path().join("bin/python"))
        .collect()
}

/// The `uv` on the PATH, else one of the kit's own in the cache.
pub(crate) fn uv(cache: &Cache, _: &CacheLock, python: &Path) -> anyhow::Result<PathBuf> {
    let on_path = PathBuf::from("uv");
    if Command::new(&on_path).arg("--version").output().is_ok_and(|said| said.status.success()) {
        return Ok(on_path);
    }
    let home = cache.root().join("uv").join(UV);
    let uv = home.join("bin/uv");
    if uv.is_file() {
        return Ok(uv);
    }
    announce("llama-stack", &format!("there is no uv on the PATH: installing uv {UV}"));
    run(Command::new(python).args(["-m", "venv", "--clear"]).arg(&home))?;
    run(Command::new(home.join("bin/python"))
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        .arg(format!("uv=={UV}")))?;
    Ok(uv)
}

/// Runs a command to its end; when it fails, what it said last is the reason.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let done = command.output().with_context(|| format!("cannot run {program}"))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(5)..].join("\n");
    bail!("{program} failed: {}", if last.is_empty() { "no reason given" } else { &last })
}
