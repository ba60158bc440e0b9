//! What an image of a real server holds, as archives: Debian with Python, which all releases share, and what a release
//! installs. Made once, without a container engine, and kept in the cache.

use std::{
    fs::{self, File, Permissions},
    io::{BufRead, BufReader, Write},
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, ensure};
use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha256};

use super::{Release, Venv, install::short_digest};
use crate::{
    announce::announce,
    cache::{Cache, CacheLock},
    programs,
    python::{self, run},
    skip::Unobtainable,
};

const SUBJECT: &str = "server image";
/// Packages of Debian whose libraries Python is linked against, and the roots that TLS trusts.
const PACKAGES: [&str; 12] = [
    "ca-certificates",
    "libbz2-1.0",
    "libexpat1",
    "libffi8",
    "liblzma5",
    "libncursesw6",
    "libreadline8",
    "libsqlite3-0",
    "libssl3",
    "libtirpc3",
    "libuuid1",
    "zlib1g",
];
/// Parts of Python that no server uses.
const UNUSED: [&str; 6] =
    ["test", "idlelib", "tkinter", "turtledemo", "ensurepip", "site-packages"];
/// Where an image has the interpreter.
const INTERPRETER: &str = "/usr/local/bin/python3";
/// Where an image has the tokenizers, and `TIKTOKEN_CACHE_DIR` points.
pub const TOKENIZERS: &str = "/opt/tokenizers";

/// A gzipped archive, as an image stores it.
#[derive(Debug, Clone)]
pub struct ImageArchive {
    pub file: PathBuf,
    /// The digest of the archive within, `sha256:…`.
    pub diff_id: String,
}

impl ImageArchive {
    const FILE: &str = "layer.tar.gz";
    /// Written last.
    const DIFF_ID: &str = "diff-id";

    fn cached(folder: &Path) -> Option<Self> {
        let diff_id = fs::read_to_string(folder.join(Self::DIFF_ID)).ok()?;
        Some(Self { file: folder.join(Self::FILE), diff_id })
    }
}

impl Release {
    /// The archives of an image of this release, the lowest first. Blocks, for minutes the first time.
    pub fn image_archives(self) -> Result<Vec<ImageArchive>, Unobtainable> {
        let venv = self.install()?;
        let made = || {
            let cache = Cache::from_env()?;
            let lock = cache.lock("server-images/lock", SUBJECT)?;
            let python = Python::find()?;
            let debian =
                archive(&cache, &lock, "debian", &python.recipe(), |root| python.root(root))?;
            let recipe = format!("{}\n{}", python.recipe(), venv.bin().display());
            let packages = archive(&cache, &lock, self.name(), &recipe, |root| {
                packages(&venv, &python, root)
            })?;
            anyhow::Ok(vec![debian, packages])
        };
        made().map_err(|error| Unobtainable(format!("no image of {self} can be made: {error:#}")))
    }
}

/// The interpreter that the releases are installed with.
struct Python {
    /// Where it was installed; it also runs elsewhere.
    prefix: PathBuf,
    /// `python3.12`
    name: String,
    /// `bookworm`
    debian: String,
}

impl Python {
    fn find() -> anyhow::Result<Self> {
        let asked = "import sys; print(sys.base_prefix, 'python%d.%d' % sys.version_info[:2])";
        let said = Command::new(python::find()?).args(["-c", asked]).output()?;
        let said = String::from_utf8(said.stdout)?;
        let (prefix, name) =
            said.trim().rsplit_once(' ').context("Python does not say where it is")?;
        ensure!(
            prefix != "/usr",
            "Debian's own Python cannot be taken out of /usr: install one with pyenv"
        );
        let system = fs::read_to_string("/etc/os-release")?;
        let debian = system.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
        let debian = debian.context("/etc/os-release has no VERSION_CODENAME")?.to_owned();
        Ok(Self { prefix: prefix.into(), name: name.to_owned(), debian })
    }

    fn recipe(&self) -> String {
        format!("{} {} {}", self.debian, self.prefix.display(), PACKAGES.join(" "))
    }

    /// Debian's smallest system, and Python in its /usr/local.
    fn root(&self, root: &Path) -> anyhow::Result<()> {
        let mmdebstrap = programs::locate("mmdebstrap", "mmdebstrap")?;
        run(Command::new(mmdebstrap)
            .args(["--quiet", "--variant=minbase"])
            .arg(format!("--include={}", PACKAGES.join(",")))
            .arg(&self.debian)
            .arg(root))?;
        let local = root.join("usr/local");
        for folder in ["bin", "lib"] {
            fs::create_dir_all(local.join(folder))?;
        }
        copy(&self.prefix.join("bin").join(&self.name), &local.join("bin"))?;
        for name in ["python3", "python"] {
            symlink(&self.name, local.join("bin").join(name))?;
        }
        for entry in fs::read_dir(self.prefix.join("lib"))?.flatten() {
            if entry.file_name().to_string_lossy().starts_with("libpython") {
                copy(&entry.path(), &local.join("lib"))?;
            }
        }
        let library = local.join("lib").join(&self.name);
        copy(&self.prefix.join("lib").join(&self.name), &local.join("lib"))?;
        for unused in UNUSED {
            let _ = fs::remove_dir_all(library.join(unused));
        }
        fs::create_dir_all(library.join("site-packages"))?;
        run(Command::new("/sbin/ldconfig").arg("-r").arg(root))
    }
}

/// What a release installs, in the place where the image's Python finds it.
fn packages(venv: &Venv, python: &Python, root: &Path) -> anyhow::Result<()> {
    let library = root.join("usr/local/lib").join(&python.name);
    let scripts = root.join("usr/local/bin");
    let tokenizers = root.join(TOKENIZERS.trim_start_matches('/'));
    for folder in [&library, &scripts, &tokenizers] {
        fs::create_dir_all(folder)?;
    }
    let own = venv.bin().join("../lib").join(&python.name).join("site-packages");
    copy(&own, &library)?;
    copy(&venv.tokenizers().join("."), &tokenizers)?;
    for entry in fs::read_dir(venv.bin())?.flatten() {
        // Only scripts in Python name the interpreter of the folder that they were made in.
        let Ok(text) = fs::read_to_string(entry.path()) else { continue };
        let Some((first, rest)) = text.split_once('\n') else { continue };
        if first.starts_with("#!") && first.contains("python") {
            let script = scripts.join(entry.file_name());
            fs::write(&script, format!("#!{INTERPRETER}\n{rest}"))?;
            fs::set_permissions(&script, Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

/// With times and links as they are: Python compares times with those in its compiled files.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    run(Command::new("cp").arg("--archive").arg(from).arg(to))
}

fn archive(
    cache: &Cache,
    lock: &CacheLock,
    name: &str,
    recipe: &str,
    fill: impl FnOnce(&Path) -> anyhow::Result<()>,
) -> anyhow::Result<ImageArchive> {
    let folder =
        cache.root().join("server-images").join(format!("{name}-{}", short_digest(recipe)));
    if let Some(cached) = ImageArchive::cached(&folder) {
        return Ok(cached);
    }
    announce(
        SUBJECT,
        &format!("packing {name}; takes a minute, and is kept in {}", folder.display()),
    );
    let staging = Cache::staging(&folder, lock)?;
    let (root, made) = (staging.path().join("root"), staging.path().join("made"));
    for folder in [&root, &made] {
        fs::create_dir(folder)?;
    }
    fill(&root)?;
    let plain = staging.path().join("layer.tar");
    run(Command::new("tar")
        .args(["--sort=name", "--numeric-owner", "--owner=0", "--group=0"])
        .args(["--exclude=./dev/*", "--exclude=./proc/*", "--exclude=./sys/*"])
        .arg("--file")
        .arg(&plain)
        .arg("--directory")
        .arg(&root)
        .args(["--create", "."]))?;
    let digest = packed(&plain, &made.join(ImageArchive::FILE))?;
    fs::write(made.join(ImageArchive::DIFF_ID), digest)?;
    fs::rename(&made, &folder)?;
    ImageArchive::cached(&folder).context("the archive is gone again")
}

/// Packs an archive in one pass, and gives its own digest.
fn packed(archive: &Path, to: &Path) -> anyhow::Result<String> {
    let mut archive = BufReader::with_capacity(1 << 20, File::open(archive)?);
    let mut packer = GzEncoder::new(File::create(to)?, Compression::fast());
    let mut digest = Sha256::new();
    loop {
        let part = archive.fill_buf()?;
        if part.is_empty() {
            break;
        }
        digest.update(part);
        packer.write_all(part)?;
        let length = part.len();
        archive.consume(length);
    }
    packer.finish()?;
    let digest = digest.finalize();
    Ok(digest.iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}")))
}
