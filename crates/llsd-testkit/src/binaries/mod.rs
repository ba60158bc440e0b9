//! Where etcd, kube-apiserver, kube-controller-manager and kubectl come from: `KUBEBUILDER_ASSETS`,
//! then the cache folder, then the published archives, then Go source. Nothing here starts them.

mod download;
mod go_build;
mod go_toolchain;
mod published;
mod version;

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::{LazyLock, Mutex, PoisonError},
};

pub use version::{Binary, Kubernetes};

use crate::cache::Cache;

/// Why something that tests run against cannot be had on this machine.
#[derive(Debug, Clone)]
pub struct Unobtainable(pub(crate) String);

impl std::fmt::Display for Unobtainable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unobtainable {}

const SUBJECT: &str = "control plane";

type Answers = HashMap<(Binary, Kubernetes), Result<PathBuf, Unobtainable>>;

/// A refusal is remembered too, so that a closed network is waited for once per process and not
/// once per test.
static ANSWERS: LazyLock<Mutex<Answers>> = LazyLock::new(Mutex::default);

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
    let lock = cache.lock("lock", SUBJECT).map_err(|error| format!("{error:#}"))?;
    // Whoever held the lock before may have made it.
    if let Some(path) = cache.find(binary, kubernetes) {
        return Ok(path);
    }
    let not_published = match published::fetch(cache, &lock, binary, kubernetes) {
        Ok(path) => return Ok(path),
        Err(error) => format!("not downloaded: {error:#}"),
    };
    go_build::build(cache, &lock, binary, kubernetes)
        .map_err(|error| format!("{not_published}; not built: {error:#}"))
}

fn announce(line: &str) {
    crate::announce::announce(SUBJECT, line);
}

/// Where in the cache the programs of a control plane stand.
impl Cache {
    /// Where a program of exactly the pinned release stands.
    fn pinned(&self, binary: Binary, kubernetes: Kubernetes) -> PathBuf {
        let product = match binary {
            Binary::Etcd => "etcd",
            _ => "kubernetes",
        };
        self.root().join(product).join(binary.version(kubernetes)).join(binary.file_name())
    }

    /// Where the published archives are unpacked, one folder per release.
    fn envtest(&self) -> PathBuf {
        self.root().join("envtest")
    }

    /// A program that an earlier run left here.
    fn find(&self, binary: Binary, kubernetes: Kubernetes) -> Option<PathBuf> {
        let pinned = self.pinned(binary, kubernetes);
        if pinned.is_file() {
            return Some(pinned);
        }
        let of_this_minor = format!("{}.", kubernetes.minor());
        fs::read_dir(self.envtest())
            .ok()?
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(&of_this_minor))
            .map(|entry| entry.path().join(binary.file_name()))
            .find(|path| path.is_file())
    }
}
