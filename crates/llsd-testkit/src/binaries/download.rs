//! Fetches a file and proves that it is the one that was published.

use std::{fmt::Write, fs::File, io, path::Path, process::Command};

use anyhow::{Context, bail, ensure};
use sha2::{Digest, Sha512};

/// Through `curl`, which knows the machine's proxies and certificates, and gives up on a network
/// that does not answer within seconds.
pub(super) fn download(url: &str, to: &Path) -> anyhow::Result<()> {
    let output = Command::new("curl")
        .args(["--fail", "--silent", "--show-error", "--location"])
        .args(["--connect-timeout", "5", "--speed-limit", "1024", "--speed-time", "15"])
        .arg("--output")
        .arg(to)
        .arg(url)
        .output()
        .context("cannot run curl")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{} ({url})", said.trim());
    }
    Ok(())
}

pub(super) fn check_sha512(file: &Path, sha512: &str) -> anyhow::Result<()> {
    struct Hasher(Sha512);
    impl io::Write for Hasher {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.update(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut hasher = Hasher(Sha512::new());
    io::copy(&mut File::open(file)?, &mut hasher)?;
    let mut found = String::new();
    for byte in hasher.0.finalize() {
        write!(found, "{byte:02x}")?;
    }
    ensure!(found == sha512, "checksum {found} where {sha512} was published");
    Ok(())
}
