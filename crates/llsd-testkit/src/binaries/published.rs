//! Published programs: the envtest archive of controller-tools, which has etcd, kube-apiserver and
//! kubectl, and Kubernetes' own release for its other programs. All of them by checksum.

use std::{
    env::consts,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use super::{
    download::{check_sha512, download},
    version::{Binary, Kubernetes},
};
use crate::{
    announce::{CONTROL_PLANE, announce},
    cache::{Cache, CacheLock},
};
use anyhow::{Context, anyhow, bail, ensure};

const INDEX: &str =
    "https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml";
const RELEASES: &str = "https://dl.k8s.io/release";

/// Asked once per process: on a closed network every further question would cost its timeout.
static INDEX_ANSWER: LazyLock<Result<String, String>> = LazyLock::new(|| {
    let file = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    download(INDEX, file.path())
        .inspect_err(|_| {
            announce(CONTROL_PLANE, "no network to download from: building from source");
        })
        .map_err(|error| format!("{error:#}"))?;
    fs::read_to_string(file.path()).map_err(|error| error.to_string())
});

pub(super) fn fetch(
    cache: &Cache,
    lock: &CacheLock,
    binary: Binary,
    kubernetes: Kubernetes,
) -> anyhow::Result<PathBuf> {
    let index = INDEX_ANSWER.as_ref().map_err(|error| anyhow!("{error}"))?;
    if !binary.is_in_envtest() {
        return from_release(cache, lock, binary, kubernetes);
    }
    let archive = newest_archive(index, kubernetes.minor(), &platform()?)
        .with_context(|| format!("no envtest archive of {}", kubernetes.minor()))?;
    unpack(&archive, &cache.envtest(), lock)?;
    let path = cache.envtest().join(&archive.version).join(binary.file_name());
    ensure!(path.is_file(), "{} lacks {}", archive.url, binary.file_name());
    Ok(path)
}

#[derive(Debug, PartialEq)]
struct Archive {
    version: String,
    url: String,
    sha512: String,
}

/// The newest patch release of `minor`. Archives are published for few patch releases, so asking
/// for the very one that is pinned for source builds would hardly ever find any.
///
/// The index is a fixed three-level YAML that a program writes; its lines are read as they stand,
/// which spares a YAML parser.
fn newest_archive(index: &str, minor: &str, platform: &str) -> Option<Archive> {
    let mut found: Option<(u32, Archive)> = None;
    let mut lines = index.lines().map(str::trim);
    while let Some(line) = lines.next() {
        let Some(version) = line
            .strip_prefix("envtest-v")
            .and_then(|rest| rest.strip_suffix(&format!("-{platform}.tar.gz:")))
        else {
            continue;
        };
        let patch = version
            .strip_prefix(minor)
            .and_then(|rest| rest.strip_prefix('.')?.parse::<u32>().ok());
        let sha512 = lines.next().and_then(|line| line.strip_prefix("hash: "));
        let url = lines.next().and_then(|line| line.strip_prefix("selfLink: "));
        let (Some(patch), Some(sha512), Some(url)) = (patch, sha512, url) else {
            continue;
        };
        if found.as_ref().is_none_or(|(newest, _)| patch > *newest) {
            let archive = Archive {
                version: version.to_owned(),
                url: url.to_owned(),
                sha512: sha512.to_owned(),
            };
            found = Some((patch, archive));
        }
    }
    found.map(|(_, archive)| archive)
}

fn unpack(archive: &Archive, into: &Path, lock: &CacheLock) -> anyhow::Result<()> {
    let target = into.join(&archive.version);
    if target.is_dir() {
        return Ok(());
    }
    let staging = Cache::staging(&target, lock)?;
    let file = staging.path().join("archive.tar.gz");
    announce(CONTROL_PLANE, &format!("downloading {}", archive.url));
    download(&archive.url, &file)?;
    check_sha512(&file, &archive.sha512)?;
    let unpacked = Command::new("tar")
        .arg("-xzf")
        .arg(&file)
        .arg("-C")
        .arg(staging.path())
        .arg("--strip-components=2")
        .status()
        .context("cannot run tar")?;
    ensure!(unpacked.success(), "tar cannot unpack {}", archive.url);
    fs::remove_file(&file)?;
    fs::rename(staging.keep(), &target)?;
    Ok(())
}

fn from_release(
    cache: &Cache,
    lock: &CacheLock,
    binary: Binary,
    kubernetes: Kubernetes,
) -> anyhow::Result<PathBuf> {
    let target = cache.pinned(binary, kubernetes);
    let staging = Cache::staging(&target, lock)?;
    let url = format!(
        "{RELEASES}/v{}/bin/{}/{}",
        kubernetes.version(),
        platform()?.replace('-', "/"),
        binary.file_name(),
    );
    let (file, sum) = (staging.path().join("program"), staging.path().join("sum"));
    announce(CONTROL_PLANE, &format!("downloading {url}"));
    download(&format!("{url}.sha512"), &sum)?;
    download(&url, &file)?;
    check_sha512(&file, fs::read_to_string(&sum)?.trim())?;
    make_executable(&file)?;
    fs::rename(&file, &target)?;
    Ok(target)
}

fn make_executable(file: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// As Go names it: `linux-amd64`.
fn platform() -> anyhow::Result<String> {
    let system = match consts::OS {
        "linux" => "linux",
        "macos" => "darwin",
        other => bail!("no programs are published for {other}"),
    };
    let machine = match consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    Ok(format!("{system}-{machine}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME_INDEX: &str = "\
releases:
  v1.36.0:
    envtest-v1.36.0-linux-amd64.tar.gz:
      hash: aa
      selfLink: https://example.com/0
    envtest-v1.36.0-linux-arm64.tar.gz:
      hash: bb
      selfLink: https://example.com/0-arm
  v1.36.2:
    envtest-v1.36.2-linux-amd64.tar.gz:
      hash: cc
      selfLink: https://example.com/2
  v1.3.9:
    envtest-v1.3.9-linux-amd64.tar.gz:
      hash: dd
      selfLink: https://example.com/old
";

    #[test]
    fn the_newest_archive_of_the_minor_and_platform_is_taken() {
        let archive = newest_archive(SOME_INDEX, "1.36", "linux-amd64").unwrap();
        assert_eq!((archive.version.as_str(), archive.sha512.as_str()), ("1.36.2", "cc"));
        let archive = newest_archive(SOME_INDEX, "1.36", "linux-arm64").unwrap();
        assert_eq!(archive.url, "https://example.com/0-arm");
        assert_eq!(newest_archive(SOME_INDEX, "1.35", "linux-amd64"), None);
    }

    /// An archive as controller-tools lays it out, served from the disk.
    fn archive_in(dir: &Path, sha512: Option<&str>) -> Archive {
        let file = dir.join("envtest.tar.gz");
        fs::create_dir_all(dir.join("controller-tools/envtest")).unwrap();
        fs::write(dir.join("controller-tools/envtest/etcd"), "a program").unwrap();
        let packed = Command::new("tar")
            .current_dir(dir)
            .args(["-czf", "envtest.tar.gz", "controller-tools"])
            .status();
        assert!(packed.unwrap().success());
        let found = check_sha512(&file, "").unwrap_err().to_string();
        let real = found.split(' ').nth(1).unwrap();
        Archive {
            version: "1.36.9".into(),
            url: format!("file://{}", file.display()),
            sha512: sha512.unwrap_or(real).into(),
        }
    }

    #[test]
    fn an_archive_is_unpacked_whole_under_its_version() {
        let dir = tempfile::tempdir().unwrap();
        let into = dir.path().join("cache/envtest");
        let lock = Cache::at(dir.path().join("cache")).lock("lock", "test").unwrap();
        unpack(&archive_in(dir.path(), None), &into, &lock).unwrap();
        assert_eq!(fs::read_to_string(into.join("1.36.9/etcd")).unwrap(), "a program");
        assert_eq!(fs::read_dir(&into).unwrap().count(), 1);
    }

    #[test]
    fn an_archive_with_another_checksum_is_refused_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let into = dir.path().join("cache/envtest");
        let lock = Cache::at(dir.path().join("cache")).lock("lock", "test").unwrap();
        let error = unpack(&archive_in(dir.path(), Some("00")), &into, &lock).unwrap_err();
        assert!(error.to_string().contains("checksum"), "{error:#}");
        assert_eq!(fs::read_dir(&into).unwrap().count(), 0);
    }
}
