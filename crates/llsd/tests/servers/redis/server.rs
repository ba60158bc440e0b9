//! A real Redis on loopback, Debian's.

use std::fmt::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use llsd_testkit::free_port;

use super::{Authority, Client};

/// How Redis is set up; the default is open and plain.
#[derive(Default)]
pub(crate) struct Setup<'a> {
    pub(crate) password: Option<&'a str>,
    /// A user besides the default one, with that same password.
    pub(crate) user: Option<&'a str>,
    /// Who signs the certificate, and for which name.
    pub(crate) tls: Option<(&'a Authority, &'a str)>,
    pub(crate) wants_client_certificate: bool,
}

pub(crate) struct Redis {
    folder: tempfile::TempDir,
    child: Child,
    /// Without TLS, also when there is a port with it.
    pub(crate) address: SocketAddr,
    /// With TLS, if it is set up.
    pub(crate) tls_port: u16,
}

impl Redis {
    pub(crate) fn start_or_skip(setup: &Setup<'_>) -> Option<Self> {
        if let Err(why) = obtain() {
            llsd_testkit::skip(&why);
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let (port, tls_port) = (free_port().unwrap(), free_port().unwrap());
        let path = |name: &str| folder.path().join(name).display().to_string();
        let mut lines = format!("bind 127.0.0.1\nport {port}\nsave \"\"\ndir {}\n", path(""));
        if let Some(password) = setup.password {
            writeln!(lines, "requirepass {}", quoted(password)).unwrap();
        }
        if let Some(user) = setup.user {
            let password = quoted(&format!(">{}", setup.password.unwrap()));
            writeln!(lines, "user {user} on {password} ~* &* +@all").unwrap();
        }
        if let Some((authority, name)) = setup.tls {
            authority.issue(name, folder.path());
            let wanted = if setup.wants_client_certificate { "yes" } else { "no" };
            let (certificate, key, ca) = (path("redis.crt"), path("redis.key"), authority.file());
            writeln!(
                lines,
                "tls-port {tls_port}\ntls-cert-file {certificate}\ntls-key-file {key}\n\
                 tls-ca-cert-file {}\ntls-auth-clients {wanted}",
                ca.display()
            )
            .unwrap();
        }
        std::fs::write(folder.path().join("redis.conf"), lines).unwrap();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let child = spawn(&folder.path().join("redis.conf"), address);
        Some(Self { folder, child, address, tls_port })
    }

    pub(crate) fn target(&self) -> String {
        format!("redis://{}", self.address)
    }

    pub(crate) fn tls_target(&self) -> String {
        format!("rediss://127.0.0.1:{}", self.tls_port)
    }

    pub(crate) fn stop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn start_again(&mut self) {
        self.child = spawn(&self.folder.path().join("redis.conf"), self.address);
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // Both fail only for one that was stopped before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(config: &PathBuf, address: SocketAddr) -> Child {
    let log = std::fs::File::create(config.with_extension("log")).unwrap();
    let mut command = Command::new("redis-server");
    let mut child = command.arg(config).stdin(Stdio::null()).stdout(log).spawn().unwrap();
    for _ in 0..600 {
        if Client::try_connect(address).is_ok() {
            return child;
        }
        if child.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let _ = child.kill();
    let log = std::fs::read_to_string(config.with_extension("log")).unwrap();
    panic!("Redis did not start: {log}");
}

/// Redis reads escapes between double quotes, which spares all thought about quoting.
fn quoted(text: &str) -> String {
    let hex: String = text.bytes().fold(String::new(), |hex, byte| hex + &format!("\\x{byte:02x}"));
    format!("\"{hex}\"")
}

/// Installs Debian's package where Redis is missing.
fn obtain() -> Result<(), String> {
    static OBTAINED: std::sync::OnceLock<Result<(), String>> = std::sync::OnceLock::new();
    let run = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        command.output().is_ok_and(|output| output.status.success())
    };
    let install = || {
        if run("redis-server", &["--version"]) {
            return Ok(());
        }
        eprintln!("redis-server is missing: installing the Debian package redis-server");
        let install = ["install", "--yes", "--no-install-recommends", "redis-server"];
        let installed = run("apt-get", &["update"]) && run("apt-get", &install);
        if installed { Ok(()) } else { Err("redis-server cannot be installed".to_owned()) }
    };
    OBTAINED.get_or_init(install).clone()
}
