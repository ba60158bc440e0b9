//! A program that a committed Go module pins: what it is, and where it is cached.

use std::path::PathBuf;

use crate::cache::Cache;

/// A program in Go source. Its release is the one that `go_mod` requires.
#[derive(Debug, Clone)]
pub struct GoProgram {
    /// Whose program it is, for messages: `control plane`, `node`.
    pub subject: &'static str,
    /// Its folder in the cache, in which each release has one.
    pub product: &'static str,
    pub file_name: &'static str,
    pub version: &'static str,
    /// The folder with the committed `go.mod`.
    pub module: PathBuf,
    /// The content of that file.
    pub go_mod: &'static str,
    pub package: &'static str,
    /// The variable in which the program keeps its version. Without it a kube-apiserver calls
    /// itself v0.0.0-master, and clients that look at it misjudge what it can do.
    pub version_variable: Option<&'static str>,
    /// Build tags, separated by commas.
    pub tags: &'static str,
    /// Whether parts of it are in C.
    pub with_c: bool,
}

impl GoProgram {
    /// Where the cache keeps it.
    pub(super) fn cached(&self, cache: &Cache) -> PathBuf {
        cache.root().join(self.product).join(self.version).join(self.file_name)
    }

    /// The Go release that the module asks for.
    pub(super) fn go_line(&self) -> &'static str {
        let found = self.go_mod.lines().find_map(|line| line.strip_prefix("go "));
        found.expect("a go.mod has a go line")
    }

    /// The module whose program it is.
    pub(super) fn required_module(&self) -> &'static str {
        let mut lines = self.go_mod.lines().filter_map(|line| line.strip_prefix("require "));
        let found = lines.find_map(|required| required.split_once(" v"));
        found.expect("the pinned module is required on a line of its own").0
    }
}

/// The release of `module` that a `go.mod` requires on a line of its own, for example `1.36.3`.
pub fn required_release(go_mod: &'static str, module: &str) -> &'static str {
    let mut lines = go_mod.lines();
    let found = lines.find_map(|line| line.strip_prefix("require ")?.strip_prefix(module));
    let release = found.expect("the pinned module is required on a line of its own");
    release.trim().trim_start_matches('v')
}
