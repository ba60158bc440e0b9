//! The source of the release that a committed Go module pins: a program's own install files lie beside it there.

use std::path::PathBuf;

use anyhow::{Context, bail};
use serde_json::Value;

use super::{go_build::go_in_module, go_program::GoProgram, go_toolchain};
use crate::{cache::Cache, skip::Unobtainable};

impl GoProgram {
    /// The folder of its source, fetched where it is not there yet. Nothing in it may be changed.
    pub fn source(&self) -> Result<PathBuf, Unobtainable> {
        self.source_of(self.required_module())
    }

    /// The same of another module, in the release that the program is built with.
    pub fn source_of(&self, module: &str) -> Result<PathBuf, Unobtainable> {
        self.find_or_fetch(module).map_err(|error| {
            let Self { file_name, version, .. } = self;
            Unobtainable(format!("{module} of {file_name} {version} was not fetched: {error:#}"))
        })
    }

    fn find_or_fetch(&self, module: &str) -> anyhow::Result<PathBuf> {
        let cache = Cache::from_env()?;
        let lock = cache.lock("lock", self.subject)?;
        let go = go_toolchain::find(&cache, &lock, self.subject, self.go_line())?;
        let download = ["mod", "download", "-json", module];
        let output = go_in_module(&go, self).args(download).output().context("cannot run go")?;
        let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        match said["Dir"].as_str().filter(|_| output.status.success()) {
            Some(folder) => Ok(folder.into()),
            None => bail!("{}{}", said["Error"], String::from_utf8_lossy(&output.stderr).trim()),
        }
    }
}
