//! A real Redis on loopback, Debian's: open, with a password, with TLS of a private authority. Gone
//! without leftovers when dropped.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, bail};
use tempfile::TempDir;

use crate::{
    builder::free_ports,
    pki::Pki,
    process::{Component, Watchdog},
    programs, readiness, skip,
};

/// How a [`Redis`] is to be.
#[derive(Debug, Clone)]
#[must_use]
pub struct RedisBuilder {
    password: Option<String>,
    tls: bool,
}

impl RedisBuilder {
    /// Nobody without this password.
    pub fn with_password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self
    }

    /// A certificate of a private authority, [`Redis::authority`], and nobody without TLS.
    pub fn with_tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// As [`start`](Self::start), but `None`, said loudly, where Redis cannot be had.
    pub async fn start_or_skip(self) -> Option<Redis> {
        skip::started_or_skipped(self.start().await)
    }

    /// Starts it; installs Redis first where it is missing and that is possible.
    pub async fn start(self) -> anyhow::Result<Redis> {
        let launch = async || self.launch();
        let ready = async |server: &mut Redis| server.ready(self.password.as_deref()).await;
        readiness::on_a_free_port(launch, ready, |server| &server.component).await
    }

    fn launch(&self) -> anyhow::Result<Redis> {
        let program = programs::locate("redis-server", "redis-server")?;
        let temporary = tempfile::Builder::new().prefix("llsd-redis-").tempdir()?;
        let dir = temporary.path();
        let [port] = free_ports()?;
        // In memory alone.
        let mut config =
            format!("bind 127.0.0.1\nsave \"\"\nappendonly no\ndir {}\n", dir.display());
        let mut authority = None;
        if self.tls {
            let pki = Pki::create(dir.join("pki"))?;
            let serving = pki.server("redis")?;
            writeln!(config, "port 0\ntls-port {port}\ntls-auth-clients no")?;
            writeln!(config, "tls-cert-file {}", serving.certificate.display())?;
            writeln!(config, "tls-key-file {}", serving.key.display())?;
            writeln!(config, "tls-ca-cert-file {}", pki.authority_file().display())?;
            authority = Some(pki.authority_file());
        } else {
            writeln!(config, "port {port}")?;
        }
        if let Some(password) = &self.password {
            writeln!(config, "requirepass \"{}\"", escaped(password))?;
        }
        let file = dir.join("redis.conf");
        fs::write(&file, config)?;
        let watchdog = Watchdog::guard(dir)?;
        let flags = [file.display().to_string()];
        let component = Component::spawn("redis-server", &program, &flags, dir, &watchdog)?;
        let entrance = RedisEndpoint { port, authority };
        Ok(Redis { component, _watchdog: watchdog, entrance, _dir: temporary })
    }
}

/// Every byte by its number: no character of a password means anything in the file.
fn escaped(password: &str) -> String {
    password.bytes().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "\\x{byte:02x}");
        text
    })
}

/// A running Redis on `127.0.0.1`.
#[derive(Debug)]
pub struct Redis {
    component: Component,
    _watchdog: Watchdog,
    entrance: RedisEndpoint,
    // The last field: dropped when nothing writes there any more.
    _dir: TempDir,
}

/// What a client has to know.
#[derive(Debug)]
struct RedisEndpoint {
    port: u16,
    authority: Option<PathBuf>,
}

impl Redis {
    /// Open to everybody, until something else is said.
    pub fn builder() -> RedisBuilder {
        RedisBuilder { password: None, tls: false }
    }

    /// The port on loopback.
    pub fn port(&self) -> u16 {
        self.entrance.port
    }

    /// The file of the certificate authority in PEM, with TLS.
    pub fn authority(&self) -> Option<&Path> {
        self.entrance.authority.as_deref()
    }

    /// What Redis answers to a command such as `["GET", "key"]`, with any password.
    pub fn command(&self, password: Option<&str>, words: &[&str]) -> anyhow::Result<String> {
        self.entrance.command(password, words)
    }

    /// Ends it before its time, as a store that went away.
    pub fn stop(&mut self) {
        self.component.kill();
    }

    async fn ready(&mut self, password: Option<&str>) -> anyhow::Result<()> {
        let Self { component, entrance, .. } = self;
        let answers = async || entrance.command(password, &["PING"]).map(drop);
        readiness::wait("redis-server", &mut [component], answers).await
    }
}

impl RedisEndpoint {
    fn command(&self, password: Option<&str>, words: &[&str]) -> anyhow::Result<String> {
        let mut command = Command::new(programs::locate("redis-cli", "redis-tools")?);
        // `-e`: an answer that is an error makes it fail.
        command.args(["-e", "-h", "127.0.0.1", "-p"]).arg(self.port.to_string());
        if let Some(authority) = &self.authority {
            command.args(["--tls", "--cacert"]).arg(authority);
        }
        match password {
            // Not as an argument, which it warns of.
            Some(password) => command.env("REDISCLI_AUTH", password),
            None => command.env_remove("REDISCLI_AUTH"),
        };
        let done = command.args(words).output().context("cannot run redis-cli")?;
        let said = String::from_utf8_lossy(&done.stdout).trim().to_owned();
        let complained = String::from_utf8_lossy(&done.stderr).trim().to_owned();
        // It goes on after a password that was refused, as nobody.
        if !done.status.success() || !complained.is_empty() {
            bail!("redis-cli: {complained} {said}");
        }
        Ok(said)
    }
}
