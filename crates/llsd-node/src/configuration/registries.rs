//! Two registries over one store of images: an open one without TLS, and one with TLS that asks for a
//! password.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::ensure;
use llsd_testkit::Pki;
use serde_json::{Value, json};

use crate::addresses::{MachineNumber, PRIVATE_REGISTRY, PULLER, REGISTRY, host};

/// The line of `/etc/hosts` and of DNS that names both.
pub(crate) fn hosts() -> String {
    let address = MachineNumber::FIRST.address();
    format!("{address} {} {}", host(REGISTRY), host(PRIVATE_REGISTRY))
}

/// The files of both.
#[derive(Debug)]
pub(crate) struct Registries {
    pub(crate) open: PathBuf,
    pub(crate) private: PathBuf,
}

impl Registries {
    pub(crate) fn write(folder: &Path, pki: &Pki, htpasswd: &Path) -> anyhow::Result<Self> {
        let serving = pki.server_at("registry", &[host(PRIVATE_REGISTRY)])?;
        let users = folder.join("registry-users");
        fs::write(&users, passwords(htpasswd)?)?;
        let files =
            Self { open: folder.join("registry.json"), private: folder.join("private.json") };
        let storage = json!({
            "filesystem": {"rootdirectory": folder.join("images")},
            "delete": {"enabled": true},
        });
        write(
            &files.open,
            &json!({
                "version": 0.1,
                "log": {"level": "warn", "accesslog": {"disabled": true}},
                "storage": storage,
                // It is also reached from outside, under another address.
                "http": {"addr": listen(REGISTRY), "relativeurls": true},
            }),
        )?;
        write(
            &files.private,
            &json!({
                "version": 0.1,
                "log": {"level": "warn", "accesslog": {"disabled": true}},
                "storage": storage,
                "http": {
                    "addr": listen(PRIVATE_REGISTRY),
                    "tls": {"certificate": serving.certificate, "key": serving.key},
                },
                "auth": {"htpasswd": {"realm": "node", "path": users}},
            }),
        )?;
        Ok(files)
    }
}

fn listen(registry: &str) -> String {
    registry.replace(host(registry), &MachineNumber::FIRST.address())
}

fn write(file: &Path, content: &Value) -> anyhow::Result<()> {
    fs::write(file, serde_json::to_vec_pretty(content)?)?;
    Ok(())
}

/// In bcrypt, the only form that the registry takes, at the lowest cost: it protects nothing.
fn passwords(htpasswd: &Path) -> anyhow::Result<Vec<u8>> {
    let (user, password) = PULLER;
    let made =
        Command::new(htpasswd).args(["-n", "-b", "-B", "-C", "4", user, password]).output()?;
    let said = String::from_utf8_lossy(&made.stderr);
    ensure!(made.status.success(), "htpasswd failed: {}", said.trim());
    Ok(made.stdout)
}
