//! What stands for an image: programs of this machine, and the settings that an image brings.

use std::{
    fs,
    path::{Path, PathBuf},
};

use llsd_testkit::Venv;

use crate::namespaces;

/// What every image has on its PATH.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The system of this machine without its data and settings, and what is put on top of it.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct ImageStandIn {
    programs: Option<PathBuf>,
    folders: Vec<(PathBuf, PathBuf)>,
    env: Vec<(String, String)>,
    command: Vec<String>,
    working_dir: Option<String>,
}

impl ImageStandIn {
    /// With the programs of a folder first on the PATH.
    pub fn programs(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self { programs: Some(folder.clone()), ..Self::default() }.with_its_place(&folder)
    }

    /// With the `python3` that is first on the PATH of this process.
    pub fn python() -> anyhow::Result<Self> {
        let (_, prefix) = namespaces::python()?;
        let image = Self { programs: Some(prefix.join("bin")), ..Self::default() };
        Ok(image.with_its_place(&prefix))
    }

    /// With a release of the server, as a distribution image has it.
    pub fn server(venv: &Venv) -> Self {
        let bin = venv.bin();
        let root = bin.parent().unwrap_or(&bin);
        let settings = fs::read_to_string(root.join("pyvenv.cfg")).unwrap_or_default();
        let mut image = Self { programs: Some(bin.clone()), ..Self::default() };
        image = image.with_its_place(root).with_its_place(venv.tokenizers());
        let home = settings.lines().find_map(|line| line.strip_prefix("home = "));
        // The folder of the interpreter's `bin`.
        if let Some(installed) = home.and_then(|home| Path::new(home.trim()).parent()) {
            image = image.with_its_place(installed);
        }
        image
            .with_working_dir("/opt")
            .with_env("TIKTOKEN_CACHE_DIR", venv.tokenizers().display().to_string())
            // Releases up to 0.2 would fetch a list of prices from the network.
            .with_env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            .with_env("PYTHONUNBUFFERED", "1")
            .with_env("LANG", "C.UTF-8")
    }

    /// One more variable that the image sets.
    pub fn with_env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// What runs in a container that names no command.
    pub fn with_command<T: Into<String>>(mut self, command: impl IntoIterator<Item = T>) -> Self {
        self.command = command.into_iter().map(Into::into).collect();
        self
    }

    /// Where a container begins that names no working folder.
    pub fn with_working_dir(mut self, folder: impl Into<String>) -> Self {
        self.working_dir = Some(folder.into());
        self
    }

    /// A folder of this machine, which the image has at `inside`. Nobody can write to it.
    pub fn with_folder(mut self, folder: impl Into<PathBuf>, inside: impl Into<PathBuf>) -> Self {
        self.folders.push((folder.into(), inside.into()));
        self
    }

    /// Programs and links name their folders as they are called here.
    fn with_its_place(mut self, folder: &Path) -> Self {
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        if real != folder {
            self = self.with_folder(&real, &real);
        }
        self.with_folder(real, folder)
    }

    pub(crate) fn folders(&self) -> &[(PathBuf, PathBuf)] {
        &self.folders
    }

    pub(crate) fn working_dir(&self) -> &str {
        self.working_dir.as_deref().unwrap_or("/")
    }

    pub(crate) fn command(&self) -> &[String] {
        &self.command
    }

    /// The image's variables, `PATH` among them.
    pub(crate) fn env(&self) -> Vec<(String, String)> {
        let first = self.programs.as_ref().map(|folder| format!("{}:", folder.display()));
        let path = format!("{}{SYSTEM_PATH}", first.unwrap_or_default());
        [("PATH".to_owned(), path)].into_iter().chain(self.env.iter().cloned()).collect()
    }
}
