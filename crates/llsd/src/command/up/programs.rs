//! The Python programs that are run here: those of a pod, and two of this command's own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use llsd_plan::objects::start_program;
use llsd_plan::values::sha256;

use crate::command::whole_file;

const GUARD: (&str, &str) = ("guard.py", include_str!("guard.py"));
const INSTALLED_TYPES: (&str, &str) = ("installed_types.py", include_str!("installed_types.py"));

/// A folder with the programs.
#[derive(Debug)]
pub(super) struct Programs(PathBuf);

impl Programs {
    /// In a folder of the cache whose name carries a hash of them: another version of this command may be running.
    pub(super) fn write(cache: &Path) -> io::Result<Self> {
        let files = || start_program::FILES.into_iter().chain([GUARD, INSTALLED_TYPES]);
        let texts: String = files().map(|(_, text)| text).collect();
        let folder = cache.join(format!("programs-{}", &sha256::hex(&texts)[..8]));
        fs::create_dir_all(&folder)?;
        for (name, text) in files() {
            let file = folder.join(name);
            if !file.exists() {
                whole_file::write(&file, text)?;
            }
        }
        Ok(Self(folder))
    }

    pub(super) fn folder(&self) -> &Path {
        &self.0
    }

    pub(super) fn guard(&self) -> PathBuf {
        self.0.join(GUARD.0)
    }

    pub(super) fn installed_types(&self) -> PathBuf {
        self.0.join(INSTALLED_TYPES.0)
    }

    pub(super) fn launch(&self) -> PathBuf {
        self.0.join("launch.py")
    }

    pub(super) fn preflight(&self) -> PathBuf {
        self.0.join("preflight.py")
    }
}
