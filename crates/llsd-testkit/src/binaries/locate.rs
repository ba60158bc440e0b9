//! Finds a program, or makes it.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{LazyLock, Mutex, PoisonError},
};

use super::{
    go_build,
    go_program::GoProgram,
    published,
    version::{Binary, Kubernetes},
};
use crate::{announce::CONTROL_PLANE, cache::Cache, skip::Unobtainable};

type LocatedPrograms = HashMap<(Binary, Kubernetes), Result<PathBuf, Unobtainable>>;

/// A refusal is remembered too, so that a closed network is waited for once per process and not
/// once per test.
static ANSWERS: LazyLock<Mutex<LocatedPrograms>> = LazyLock::new(Mutex::default);

/// The path of one program, fetched or built where it is not there yet. Blocks, for minutes when
/// it has to build; progress goes to standard error.
pub fn locate(binary: Binary, kubernetes: Kubernetes) -> Result<PathBuf, Unobtainable> {
    let mut answers = ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
    answers.entry((binary, kubernetes)).or_insert_with(|| find_or_make(binary, kubernetes)).clone()
}

fn find_or_make(binary: Binary, kubernetes: Kubernetes) -> Result<PathBuf, Unobtainable> {
    if let Some(assets) = std::env::var_os("KUBEBUILDER_ASSETS") {
        let path = Path::new(&assets).join(binary.file_name());
        if path.is_file() {
            return Ok(path);
        }
    }
    let cache = Cache::from_env().map_err(|error| Unobtainable(format!("{error:#}")))?;
    if let Some(path) = cache.find(binary, kubernetes) {
        return Ok(path);
    }
    make(&cache, binary, kubernetes).map_err(|reasons| {
        Unobtainable(format!(
            "{} for Kubernetes {} is neither in KUBEBUILDER_ASSETS nor in {}; {reasons}",
            binary.file_name(),
            kubernetes.minor(),
            cache.root().display(),
        ))
    })
}

fn make(cache: &Cache, binary: Binary, kubernetes: Kubernetes) -> Result<PathBuf, String> {
    let lock = cache.lock("lock", CONTROL_PLANE).map_err(|error| format!("{error:#}"))?;
    // Whoever held the lock before may have made it.
    if let Some(path) = cache.find(binary, kubernetes) {
        return Ok(path);
    }
    let not_published = match published::fetch(cache, &lock, binary, kubernetes) {
        Ok(path) => return Ok(path),
        Err(error) => format!("not downloaded: {error:#}"),
    };
    go_build::build(cache, &lock, &binary.go_program(kubernetes), cache.pinned(binary, kubernetes))
        .map_err(|error| format!("{not_published}; not built: {error:#}"))
}

/// As [`ANSWERS`], for programs that are built from their source alone, by their place in the cache.
static BUILT: LazyLock<Mutex<HashMap<PathBuf, Result<PathBuf, Unobtainable>>>> =
    LazyLock::new(Mutex::default);

impl GoProgram {
    /// Whether it was built before.
    pub fn is_cached(&self) -> bool {
        Cache::from_env().is_ok_and(|cache| self.cached(&cache).is_file())
    }

    /// Its path in the cache, built where it is not there yet. Blocks, for minutes when it has to
    /// build; progress goes to standard error.
    pub fn locate(&self) -> Result<PathBuf, Unobtainable> {
        let cache = Cache::from_env().map_err(|error| Unobtainable(format!("{error:#}")))?;
        let mut answers = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = answers.entry(self.cached(&cache)).or_insert_with(|| {
            self.find_or_build(&cache).map_err(|error| {
                let Self { file_name, version, .. } = self;
                Unobtainable(format!("{file_name} {version} was not built: {error:#}"))
            })
        });
        answer.clone()
    }

    fn find_or_build(&self, cache: &Cache) -> anyhow::Result<PathBuf> {
        let target = self.cached(cache);
        if target.is_file() {
            return Ok(target);
        }
        let lock = cache.lock("lock", self.subject)?;
        // The process that held the lock before may have built it.
        if target.is_file() {
            return Ok(target);
        }
        go_build::build(cache, &lock, self, target)
    }
}
