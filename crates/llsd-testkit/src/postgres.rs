//! A real Postgres on loopback, Debian's, with a user, a password and a database of the test's
//! choice; with TLS of a private authority on request. Gone without leftovers when dropped.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, bail};
use tempfile::TempDir;

use crate::{
    account::Account,
    builder::free_ports,
    pki::Pki,
    process::{Component, Watchdog},
    programs, readiness, skip,
};

const PACKAGE: &str = "postgresql";
/// The database that is always there.
const MAINTENANCE: &str = "postgres";

/// How a [`Postgres`] is to be.
#[derive(Debug, Clone)]
#[must_use]
pub struct PostgresBuilder {
    user: String,
    password: String,
    database: String,
    tls: bool,
}

impl PostgresBuilder {
    /// A certificate of a private authority, [`Postgres::authority`], and nobody without TLS.
    pub fn with_tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// As [`start`](Self::start), but `None`, said loudly, where Postgres cannot be had.
    pub async fn start_or_skip(self) -> Option<Postgres> {
        skip::started_or_skipped(self.start().await)
    }

    /// Starts it; installs Postgres first where it is missing and that is possible.
    pub async fn start(self) -> anyhow::Result<Postgres> {
        let launch = async || self.launch();
        readiness::on_a_free_port(launch, Postgres::ready, |server| &server.component).await
    }

    fn launch(&self) -> anyhow::Result<Postgres> {
        let program = programs::locate("postgres", PACKAGE)?;
        let account = Account::other_than_root("postgres")?;
        let temporary = tempfile::Builder::new().prefix("llsd-postgres-").tempdir()?;
        let dir = temporary.path();
        account.own(dir)?;
        let data = dir.join("data");
        self.initialise(&account, dir, &data)?;
        let (mut settings, authority) = self.tls_settings(&account, dir)?;
        let kind = if self.tls { "hostssl" } else { "host" };
        fs::write(
            data.join("pg_hba.conf"),
            format!("{kind} all all 127.0.0.1/32 scram-sha-256\n"),
        )?;

        let [port] = free_ports()?;
        // What is lost in a crash of the machine is not worth waiting for the disk.
        settings.extend(["fsync=off", "listen_addresses=127.0.0.1"].map(String::from));
        settings.push(format!("unix_socket_directories={}", dir.display()));
        let mut command = Command::new(program);
        command.arg("-D").arg(&data).arg("-p").arg(port.to_string()).current_dir(dir);
        for setting in settings {
            command.args(["-c", &setting]);
        }
        let watchdog = Watchdog::guard(dir)?;
        let component = Component::start("postgres", account.run_as(&mut command), dir, &watchdog)?;
        Ok(Postgres {
            component,
            _watchdog: watchdog,
            entrance: PostgresEndpoint { settings: self.clone(), port, authority },
            _dir: temporary,
        })
    }

    /// Makes the folder of the databases, with the superuser.
    fn initialise(&self, account: &Account, dir: &Path, data: &Path) -> anyhow::Result<()> {
        let initdb = programs::locate("initdb", PACKAGE)?;
        let password = dir.join("password");
        fs::write(&password, &self.password)?;
        let mut made = Command::new(initdb);
        made.args(["--no-sync", "--encoding=UTF8", "--locale=C", "--auth=scram-sha-256"])
            .arg(format!("--username={}", self.user))
            .arg(format!("--pwfile={}", password.display()))
            .arg("--pgdata")
            .arg(data)
            .current_dir(dir);
        let made = account.run_as(&mut made).output().context("cannot run initdb")?;
        if !made.status.success() {
            bail!("initdb failed: {}", String::from_utf8_lossy(&made.stderr).trim());
        }
        fs::remove_file(password)?;
        Ok(())
    }

    /// With TLS also the authority that clients trust.
    fn tls_settings(
        &self,
        account: &Account,
        dir: &Path,
    ) -> anyhow::Result<(Vec<String>, Option<PathBuf>)> {
        if !self.tls {
            return Ok((vec!["ssl=off".to_owned()], None));
        }
        let pki = Pki::create(dir.join("pki"))?;
        let serving = pki.server("postgres")?;
        // Postgres refuses a key that others might read.
        account.own(&serving.key)?;
        fs::set_permissions(&serving.key, Permissions::from_mode(0o600))?;
        let settings = vec![
            "ssl=on".to_owned(),
            format!("ssl_cert_file={}", serving.certificate.display()),
            format!("ssl_key_file={}", serving.key.display()),
        ];
        Ok((settings, Some(pki.authority_file())))
    }
}

/// A running Postgres on `127.0.0.1`.
#[derive(Debug)]
pub struct Postgres {
    component: Component,
    _watchdog: Watchdog,
    entrance: PostgresEndpoint,
    // The last field: dropped when nothing writes there any more.
    _dir: TempDir,
}

/// What a client has to know.
#[derive(Debug)]
struct PostgresEndpoint {
    settings: PostgresBuilder,
    port: u16,
    authority: Option<PathBuf>,
}

impl Postgres {
    /// With this superuser, its password, and a database.
    pub fn builder(user: &str, password: &str, database: &str) -> PostgresBuilder {
        PostgresBuilder {
            user: user.to_owned(),
            password: password.to_owned(),
            database: database.to_owned(),
            tls: false,
        }
    }

    /// The port on loopback.
    pub fn port(&self) -> u16 {
        self.entrance.port
    }

    /// The file of the certificate authority in PEM, with TLS.
    pub fn authority(&self) -> Option<&Path> {
        self.entrance.authority.as_deref()
    }

    /// What `psql` prints for a query in the test's database, one line per row, columns divided by
    /// `|`; with any password.
    pub fn query(&self, password: &str, sql: &str) -> anyhow::Result<String> {
        self.entrance.query(&self.entrance.settings.database, password, sql)
    }

    /// Ends it before its time, as a database that went away.
    pub fn stop(&mut self) -> anyhow::Result<()> {
        // Ends all sessions, and leaves no shared memory behind as a KILL would.
        self.component.stop("INT", Duration::from_secs(10))?;
        Ok(())
    }

    async fn ready(&mut self) -> anyhow::Result<()> {
        let Self { component, entrance, .. } = self;
        let PostgresBuilder { password, database, .. } = &entrance.settings;
        let answers = async || entrance.query(MAINTENANCE, password, "SELECT 1").map(drop);
        readiness::wait("postgres", &mut [component], answers).await?;
        if database != MAINTENANCE {
            let name = database.replace('"', "\"\"");
            entrance.query(MAINTENANCE, password, &format!("CREATE DATABASE \"{name}\""))?;
        }
        Ok(())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

impl PostgresEndpoint {
    fn query(&self, database: &str, password: &str, sql: &str) -> anyhow::Result<String> {
        let mut command = Command::new(programs::locate("psql", PACKAGE)?);
        command
            .args(["--no-psqlrc", "--no-password", "--no-align", "--tuples-only"])
            .args(["--set=ON_ERROR_STOP=1", "--command", sql])
            // The name is what the certificate is compared with; the address needs no resolver.
            .envs([("PGHOST", "localhost"), ("PGHOSTADDR", "127.0.0.1")])
            .env("PGPORT", self.port.to_string())
            .envs([("PGUSER", self.settings.user.as_str()), ("PGPASSWORD", password)])
            .env("PGDATABASE", database)
            .env("PGSSLMODE", if self.authority.is_some() { "verify-full" } else { "disable" });
        if let Some(authority) = &self.authority {
            command.env("PGSSLROOTCERT", authority);
        }
        let done = command.output().context("cannot run psql")?;
        if !done.status.success() {
            bail!("psql: {}", String::from_utf8_lossy(&done.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
    }
}
