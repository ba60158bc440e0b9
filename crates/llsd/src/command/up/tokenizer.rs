//! The tokenizer that servers load at their start, and would fetch from a site of its own: a package of the index has
//! the same file, so that a machine which reaches nothing but an index can run a server.

use std::fs;
use std::path::Path;

use super::lock::lock;
use super::say::say;
use super::tools::{Tools, run};

/// The package, and the file in it under the name that the server looks for.
const PACKAGE: &str = "litellm==1.80.0";
const FOLDER: &str = "litellm/litellm_core_utils/tokenizers";
const FILE: &str = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4";
/// How a folder begins into which the package is installed, to take the file out of it.
const STAGING: &str = "tokenizer-";

/// The folder of tokenizers.
pub(super) fn folder(cache: &Path) -> std::path::PathBuf {
    cache.join("tokenizers")
}

/// Puts the tokenizer into the cache, which all releases share. Without it the server fetches it.
pub(super) async fn fetch(tools: &Tools, python: &Path, cache: &Path, log: &Path) {
    let file = folder(cache).join(FILE);
    if file.exists() {
        return;
    }
    let _lock = match lock(&cache.join("tokenizers.lock"), "the tokenizer").await {
        Ok(lock) => lock,
        Err(message) => return say(&format!("the tokenizer is not installed: {message}")),
    };
    if file.exists() {
        return; // installed while this waited
    }
    remove_unfinished(cache);
    let staging = cache.join(format!("{STAGING}{:x}", fastrand::u32(..)));
    let mut command = tools.uv(&["pip", "install", "--quiet", "--no-deps", "--python"]);
    command.arg(python).arg("--target").arg(&staging).arg(PACKAGE);
    let installed = run(&mut command, log).await;
    let moved = installed.is_ok()
        && fs::create_dir_all(folder(cache)).is_ok()
        && fs::rename(staging.join(FOLDER).join(FILE), &file).is_ok();
    let _ = fs::remove_dir_all(&staging);
    if !moved {
        say("the tokenizer is not in the package index: the server fetches it at its start");
    }
}

/// What interrupted runs left. Under the lock no other run uses such a folder.
fn remove_unfinished(cache: &Path) {
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(STAGING) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_interrupted_runs_are_removed() {
        let cache = tempfile::tempdir().unwrap();
        for name in ["tokenizer-1a/litellm", "tokenizer-2b", "tokenizers", "0.7.3"] {
            fs::create_dir_all(cache.path().join(name)).unwrap();
        }
        remove_unfinished(cache.path());
        let left = fs::read_dir(cache.path()).unwrap().flatten();
        let mut left: Vec<_> = left.map(|entry| entry.file_name()).collect();
        left.sort();
        assert_eq!(left, ["0.7.3", "tokenizers"]);
    }
}
