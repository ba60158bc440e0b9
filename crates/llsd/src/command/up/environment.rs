//! Environments of Python with a server and the packages of its providers: one for each release, set of packages and
//! Python that is asked for, made once and kept in the cache. One that is there is never changed: a server may be running
//! from it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};
use std::time::Instant;

use llsd_offline::laptop::{Demand, InstalledRelease, InstalledType, SERVER_DEPENDENCIES_LEFT_OUT};
use llsd_plan::values::sha256;
use tokio::process::Command;

use super::lock::lock;
use super::programs::Programs;
use super::say::{say, with_remedy};
use super::tokenizer;
use super::tools::{Python, Tools, run};

/// In an environment: what its provider types lack. Written last. In the folder of a release: what they ask for.
const TYPES: &str = "types.json";
/// Dependencies that are left out, in the words of `uv`.
const OVERRIDES: &str = "left-out.txt";
/// How the folder of an environment begins; a link named after its packages leads to it.
const MADE: &str = "env-";

/// An installed server.
#[derive(Clone, Debug)]
pub(super) struct Environment {
    pub(super) root: PathBuf,
    pub(super) types: Vec<InstalledType>,
}

impl Environment {
    pub(super) fn python(&self) -> PathBuf {
        self.bin().join("python")
    }

    pub(super) fn bin(&self) -> PathBuf {
        self.root.join("bin")
    }

    /// One of the user's own, which is asked each time.
    pub(super) async fn of_user(root: &Path, programs: &Programs) -> Result<Self, String> {
        let root =
            fs::canonicalize(root).map_err(|error| format!("{}: {error}", root.display()))?;
        let environment = Self { root, types: Vec::new() };
        let types = ask(&environment.python(), programs, true).await?;
        Ok(Self { types, ..environment })
    }
}

/// Where the environments of one release are, and what they are made with.
#[derive(Debug)]
pub(super) struct Environments<'a> {
    pub(super) cache: &'a Path,
    /// The one that the user names.
    pub(super) python: Option<&'a Python>,
    pub(super) programs: &'a Programs,
    pub(super) release: &'a InstalledRelease,
}

impl Environments<'_> {
    fn folder(&self) -> PathBuf {
        self.cache.join(&self.release.name)
    }

    /// The environment with the packages that `choose` asks for, once it is known what each type needs.
    pub(super) async fn find_or_make(
        &self,
        choose: impl Fn(&[InstalledType]) -> Demand,
    ) -> Result<Environment, String> {
        let known = read_types(&self.folder().join(TYPES));
        if let Some(found) = known.as_deref().and_then(|types| self.find(&choose(types))) {
            return Ok(found);
        }
        let folder = self.folder();
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let _lock = lock(&folder.join("lock"), "this release").await?;
        let known = read_types(&folder.join(TYPES));
        if let Some(found) = known.as_deref().and_then(|types| self.find(&choose(types))) {
            return Ok(found); // made while this waited
        }
        remove_unfinished(&folder);
        let root = folder.join(format!("{MADE}{}-{:x}", process::id(), fastrand::u32(..)));
        let made = self.make(&root, known, choose).await;
        if made.is_err() {
            let _ = fs::remove_dir_all(&root);
        }
        made
    }

    fn find(&self, demand: &Demand) -> Option<Environment> {
        let root = fs::canonicalize(self.folder().join(self.key(demand))).ok()?;
        let types = read_types(&root.join(TYPES))?;
        let environment = Environment { root, types };
        // It is a link to the Python of the machine, which an update may have removed.
        environment.python().exists().then_some(environment)
    }

    /// Stands for the release, the packages, and the Python if one is asked for.
    fn key(&self, demand: &Demand) -> String {
        let InstalledRelease { requirements, uploaded_before, .. } = self.release;
        let own = requirements.iter().map(String::as_str).chain([uploaded_before.as_str()]);
        let python = self.python.map(Python::identity);
        let lines: Vec<&str> = own.chain(demand.lines()).chain(python.as_deref()).collect();
        sha256::hex(&lines.join("\n"))[..16].to_owned()
    }

    async fn make(
        &self,
        root: &Path,
        known: Option<Vec<InstalledType>>,
        choose: impl Fn(&[InstalledType]) -> Demand,
    ) -> Result<Environment, String> {
        let begun = Instant::now();
        let title = &self.release.title;
        say(&format!("installing {title} into {}, once", self.folder().display()));
        let tools = Tools::find(self.python, self.cache, &self.log()).await?;
        self.venv(&tools, root).await?;
        let environment = Environment { root: root.to_owned(), types: Vec::new() };
        let python = environment.python();
        let types = if let Some(types) = known {
            types
        } else {
            // Only the server itself can say what each of its types needs.
            self.install(&tools, &python, &Demand::default()).await?;
            ask(&python, self.programs, false).await?
        };
        let demand = choose(&types);
        self.install(&tools, &python, &demand).await?;
        tokenizer::fetch(&tools, &python, self.cache, &self.log()).await;
        let lacking = ask(&python, self.programs, true).await?;
        let wrong = |error: io::Error| format!("{}: {error}", root.display());
        write_types(&root.join(TYPES), &lacking).map_err(wrong)?;
        write_types(&self.folder().join(TYPES), &types).map_err(wrong)?;
        let link = self.folder().join(self.key(&demand));
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(root, &link).map_err(wrong)?;
        say(&format!("installed {title} in {} s", begun.elapsed().as_secs()));
        Ok(Environment { types: lacking, ..environment })
    }

    async fn venv(&self, tools: &Tools, root: &Path) -> Result<(), String> {
        let python: OsString = match &tools.python {
            Some(python) => python.into(),
            None => llsd_offline::laptop::PYTHONS[0].into(),
        };
        let mut command = tools.uv(&["venv", "--quiet", "--python"]);
        run(command.arg(python).arg(root), &self.log()).await?;
        let never = |package: &&str| format!("{package} ; python_version < '3'\n");
        let overrides: String = SERVER_DEPENDENCIES_LEFT_OUT.iter().map(never).collect();
        fs::write(root.join(OVERRIDES), overrides)
            .map_err(|error| format!("{}: {error}", root.display()))
    }

    /// The server with packages of providers, in one go, so that they fit each other.
    async fn install(&self, tools: &Tools, python: &Path, demand: &Demand) -> Result<(), String> {
        let mut command =
            tools.uv(&["pip", "install", "--quiet", "--compile-bytecode", "--python"]);
        command.arg(python).args(["--exclude-newer", &self.release.uploaded_before]);
        if !SERVER_DEPENDENCIES_LEFT_OUT.iter().any(|package| demand.asks_for(package)) {
            let root = python.parent().and_then(Path::parent).unwrap_or(python);
            command.arg("--overrides").arg(root.join(OVERRIDES));
        }
        command.args(&self.release.requirements).args(&demand.plain);
        run(&mut command, &self.log()).await?;
        for line in &demand.with_options {
            // Indexes that a package names itself do not say when it was uploaded.
            say(&format!("installing {line}"));
            let mut command = tools.uv(&["pip", "install", "--quiet", "--python"]);
            run(command.arg(python).args(line.split_whitespace()), &self.log()).await?;
        }
        Ok(())
    }

    /// In the folder whose lock is held, so that no other run writes it.
    fn log(&self) -> PathBuf {
        self.folder().join("install.log")
    }
}

/// What an ended process left: folders that no link leads to.
fn remove_unfinished(folder: &Path) {
    let entries = || fs::read_dir(folder).into_iter().flatten().flatten();
    let linked: BTreeSet<PathBuf> = entries()
        .filter(|entry| entry.path().is_symlink())
        .filter_map(|entry| fs::canonicalize(entry.path()).ok())
        .collect();
    for entry in entries() {
        let is_made = entry.file_name().to_string_lossy().starts_with(MADE);
        let path = fs::canonicalize(entry.path()).unwrap_or_else(|_| entry.path());
        if is_made && !linked.contains(&path) {
            let _ = fs::remove_dir_all(path);
        }
    }
}

/// What the installed server says of its provider types.
async fn ask(
    python: &Path,
    programs: &Programs,
    imports: bool,
) -> Result<Vec<InstalledType>, String> {
    let mut command = Command::new(python);
    command.arg(programs.installed_types()).args(imports.then_some("imports"));
    command.env("PYTHONPATH", programs.folder()).stdin(Stdio::null()).kill_on_drop(true);
    let done = command.output().await;
    let done = done.map_err(|error| format!("{}: {error}", python.display()))?;
    let answer = serde_json::from_slice(&done.stdout);
    answer.ok().filter(|_| done.status.success()).ok_or_else(|| {
        let printed = String::from_utf8_lossy(&done.stderr);
        let last = printed.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no output");
        with_remedy(
            &format!("{} has no server that starts: {last}", python.display()),
            "remove the folder of the environment, so that it is made again",
        )
    })
}

fn read_types(file: &Path) -> Option<Vec<InstalledType>> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

fn write_types(file: &Path, types: &[InstalledType]) -> io::Result<()> {
    crate::command::whole_file::write(file, &serde_json::to_string(types)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn release() -> InstalledRelease {
        InstalledRelease {
            name: "0.7.3".to_owned(),
            title: "llama-stack 0.7.3".to_owned(),
            requirements: vec!["llama-stack==0.7.3".to_owned()],
            uploaded_before: "2026-01-01".to_owned(),
            is_guessed: false,
        }
    }

    #[test]
    fn an_environment_whose_python_is_gone_is_as_good_as_none() {
        let cache = tempfile::tempdir().unwrap();
        let (programs, release) = (Programs::write(cache.path()).unwrap(), release());
        let environments = Environments {
            cache: cache.path(),
            python: None,
            programs: &programs,
            release: &release,
        };
        let root = environments.folder().join("env-1");
        fs::create_dir_all(root.join("bin")).unwrap();
        write_types(&root.join(TYPES), &[]).unwrap();
        let (of_the_machine, demand) = (cache.path().join("python3.12"), Demand::default());
        symlink(&of_the_machine, root.join("bin/python")).unwrap();
        symlink(&root, environments.folder().join(environments.key(&demand))).unwrap();

        assert!(environments.find(&demand).is_none());
        fs::write(of_the_machine, "").unwrap();
        let found = environments.find(&demand).unwrap();
        assert_eq!(found.root, fs::canonicalize(&root).unwrap());
    }

    #[test]
    fn a_python_that_is_asked_for_has_environments_of_its_own() {
        let cache = tempfile::tempdir().unwrap();
        let (programs, release) = (Programs::write(cache.path()).unwrap(), release());
        let key = |python: Option<&Python>| {
            let (cache, programs, release) = (cache.path(), &programs, &release);
            Environments { cache, python, programs, release }.key(&Demand::default())
        };
        let python = |printed| Python::described(Path::new("python3"), printed);
        let named = python("3.12\n/usr/bin/python3.12\n");
        assert_eq!(key(Some(&named)), key(Some(&named)));
        let others = ["3.13\n/usr/bin/python3.12\n", "3.12\n/opt/bin/python3.12\n"].map(python);
        for other in [None, Some(&others[0]), Some(&others[1])] {
            assert_ne!(key(other), key(Some(&named)));
        }
    }
}
