//! Python and `uv`: found on this machine, or, `uv` alone, installed by pip into the cache. pip itself takes ten times as
//! long, and cannot leave out what was uploaded after a day with every index.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use llsd_offline::laptop::{PYTHONS, settings_of_pip};
use tokio::process::Command;

use super::lock::lock;
use super::say::{say, with_remedy};

/// Asks a Python for its version and its path, and whether it can make environments.
const ASK: &str =
    "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2]); print(sys.executable)";

/// A Python of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Python {
    /// As it is called.
    pub(super) program: PathBuf,
    /// `3.12`.
    version: String,
    /// By its own account: a name alone can mean another one tomorrow.
    path: String,
}

impl Python {
    /// The one that the user names, which a release must run on. The error says what is wrong with it.
    pub(super) async fn asked(program: &Path) -> Result<Self, String> {
        match Self::at(program).await {
            Some(python) if python.is_supported() => Ok(python),
            Some(Self { version, .. }) => Err(with_remedy(
                &format!("{} is Python {version}", program.display()),
                &format!("the servers run on Python {}", PYTHONS.join(" or ")),
            )),
            None => Err(with_remedy(
                &format!("{} does not run, or has no module venv", program.display()),
                "name another one with --python",
            )),
        }
    }

    async fn at(program: &Path) -> Option<Self> {
        let printed = answer(program, &["-c", ASK]).await?;
        Some(Self::described(program, &printed))
    }

    /// From what it answers to [`ASK`].
    pub(super) fn described(program: &Path, printed: &str) -> Self {
        let mut lines = printed.lines().map(str::trim);
        let version = lines.next().unwrap_or_default().to_owned();
        let path = lines.next().filter(|path| !path.is_empty());
        let path = path.map_or_else(|| program.display().to_string(), str::to_owned);
        Self { program: program.to_owned(), version, path }
    }

    fn is_supported(&self) -> bool {
        PYTHONS.contains(&self.version.as_str())
    }

    /// What an environment that is made with it depends on.
    pub(super) fn identity(&self) -> String {
        format!("Python {} {}", self.version, self.path)
    }
}

/// What packages are installed with.
#[derive(Debug)]
pub(super) struct Tools {
    pub(super) uv: PathBuf,
    /// Nothing where `uv` is to find one, or to download it.
    pub(super) python: Option<PathBuf>,
    /// The index that pip is configured with, in the words of `uv`.
    settings: Vec<(&'static str, String)>,
}

impl Tools {
    /// Finds both, or takes the Python that is asked for. The error says what to install.
    pub(super) async fn find(
        asked: Option<&Python>,
        cache: &Path,
        log: &Path,
    ) -> Result<Self, String> {
        let on_path = PathBuf::from("uv");
        let has_uv = answer(&on_path, &["--version"]).await.is_some();
        let found = match asked {
            Some(python) => Ok(python.clone()),
            None => any_python().await,
        };
        let python = match found {
            Ok(python) => python.program,
            Err(_) if has_uv => {
                return Ok(Self { uv: on_path, python: None, settings: Vec::new() });
            }
            Err(message) => return Err(message),
        };
        let uv = if has_uv { on_path } else { uv_of_pip(&python, cache, log).await? };
        let listed = answer(&python, &["-m", "pip", "config", "list"]).await.unwrap_or_default();
        let settings = settings_of_pip(&listed, |name| std::env::var_os(name).is_some());
        Ok(Self { uv, python: Some(python), settings })
    }

    /// A command of `uv`, which asks the same index as pip.
    pub(super) fn uv(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.uv);
        command.args(words).envs(self.settings.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// A Python that a release runs on.
async fn any_python() -> Result<Python, String> {
    let named = PYTHONS.iter().map(|minor| PathBuf::from(format!("python{minor}")));
    for python in named.chain(["python3".into(), "python".into()]).chain(of_pyenv()) {
        if let Some(python) = Python::at(&python).await.filter(Python::is_supported) {
            return Ok(python);
        }
    }
    let there = Python::at(Path::new("python3")).await;
    let there = there.map(|it| format!("; python3 is {}", it.version)).unwrap_or_default();
    Err(with_remedy(
        &format!("no Python {} with the module venv is found{there}", PYTHONS.join(" or ")),
        "install one of them, or uv, which downloads one; or name one with --python",
    ))
}

/// pyenv's own commands exist and fail while another version is chosen.
fn of_pyenv() -> Vec<PathBuf> {
    let root = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let root = root.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".pyenv")));
    let versions = root.and_then(|root| fs::read_dir(root.join("versions")).ok());
    let mut found: Vec<PathBuf> = versions
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            PYTHONS
                .iter()
                .any(|minor| name.strip_prefix(minor).is_some_and(|it| it.starts_with('.')))
        })
        .map(|entry| entry.path().join("bin/python"))
        .collect();
    found.sort();
    found
}

/// The `uv` of the cache, which all releases share.
async fn uv_of_pip(python: &Path, cache: &Path, log: &Path) -> Result<PathBuf, String> {
    let folder = cache.join("uv");
    let uv = folder.join("bin").join("uv");
    if answer(&uv, &["--version"]).await.is_some() {
        return Ok(uv);
    }
    let _lock = lock(&cache.join("uv.lock"), "uv").await?;
    if answer(&uv, &["--version"]).await.is_some() {
        return Ok(uv); // installed while this waited
    }
    say("uv is not installed; pip installs it into the cache");
    run(Command::new(python).args(["-m", "venv", "--clear"]).arg(&folder), log).await?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "uv"];
    run(Command::new(folder.join("bin").join("python")).args(pip), log).await?;
    Ok(uv)
}

/// What a command prints, where it succeeds.
pub(super) async fn answer(program: &Path, words: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let done = command.output().await.ok()?;
    done.status.success().then(|| String::from_utf8_lossy(&done.stdout).into_owned())
}

/// Runs a command that installs something to its end. The error says why it failed.
pub(super) async fn run(command: &mut Command, log: &Path) -> Result<(), String> {
    let words = || format!("cannot write {}", log.display());
    let file = File::create(log).map_err(|error| format!("{}: {error}", words()))?;
    let copy = file.try_clone().map_err(|error| format!("{}: {error}", words()))?;
    let program = command.as_std().get_program().to_string_lossy().into_owned();
    let child = command.stdin(Stdio::null()).stdout(file).stderr(copy).kill_on_drop(true).spawn();
    let mut child = child.map_err(|error| format!("{program} does not run: {error}"))?;
    let status = child.wait().await.map_err(|error| format!("{program}: {error}"))?;
    if status.success() {
        return Ok(());
    }
    Err(failure(&String::from_utf8_lossy(&fs::read(log).unwrap_or_default()), log))
}

/// The end of what an installer printed, under what is most likely wrong.
fn failure(printed: &str, log: &Path) -> String {
    let lines: Vec<&str> = printed.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(6)..].join("\n    ");
    let has = |words: &[&str]| words.iter().any(|word| printed.contains(word));
    let network = [
        "Failed to fetch",
        "error sending request",
        "dns error",
        "Could not connect",
        "Connection refused",
        "Temporary failure in name resolution",
        "timed out",
        "Could not find a version that satisfies the requirement uv",
        "Failed to establish a new connection",
    ];
    let (message, remedy) = if has(&["No space left", "os error 28"]) {
        ("the disk is full", "free some space, or name another folder in LLSD_CACHE".to_owned())
    } else if has(&network) {
        (
            "the package index does not answer",
            "check the network, and the index that pip or uv is configured with; what was installed once is kept"
                .to_owned(),
        )
    } else {
        ("the packages cannot be installed", format!("{} has the whole output", log.display()))
    };
    with_remedy(&format!("{message}:\n    {last}"), &remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_python_is_known_by_its_version_and_its_own_path() {
        let named = |printed| Python::described(Path::new("python3"), printed);
        let here = named("3.12\n/usr/bin/python3.12\n");
        assert!(here.is_supported());
        assert_eq!(here.identity(), "Python 3.12 /usr/bin/python3.12");
        assert_eq!(here.program, Path::new("python3"));
        assert_ne!(named("3.13\n/usr/bin/python3\n"), named("3.12\n/usr/bin/python3\n"));
        assert_eq!(named("3.9\n\n").identity(), "Python 3.9 python3");
        assert!(!named("3.9").is_supported());
    }

    #[test]
    fn a_failed_installation_says_what_is_most_likely_wrong() {
        let said = |printed| failure(printed, Path::new("/cache/install.log"));
        let network = said("a\n\nerror: Failed to fetch: `x`\n  Caused by: dns error\n");
        assert!(network.starts_with("the package index does not answer:\n    a\n"), "{network}");
        assert!(said("error: No space left on device").starts_with("the disk is full"));
        let other = said("No solution found when resolving dependencies");
        assert!(other.starts_with("the packages cannot be installed"), "{other}");
        assert!(other.ends_with("/cache/install.log has the whole output"), "{other}");
    }
}
