//! A real registry on loopback, Debian's docker-registry: open, with passwords, with a token
//! service, with TLS of a private authority. Gone without leftovers when dropped.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context;
use tempfile::TempDir;

use super::{
    token_service::{self, TokenService},
    user::{self, User},
};
use crate::{
    builder::free_ports,
    loopback_client,
    pki::Pki,
    process::{Component, Watchdog},
    programs, readiness,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Auth {
    Open,
    Passwords,
    Tokens,
}

#[derive(Debug)]
#[must_use]
pub struct RegistryBuilder {
    auth: Auth,
    users: Vec<User>,
    tls: bool,
}

impl RegistryBuilder {
    /// Basic authentication against an htpasswd file.
    pub fn with_passwords(mut self, users: &[User]) -> Self {
        (self.auth, self.users) = (Auth::Passwords, users.to_vec());
        self
    }

    /// Bearer tokens from a token service. Repositories below `public/` are everybody's.
    pub fn with_tokens(mut self, users: &[User]) -> Self {
        (self.auth, self.users) = (Auth::Tokens, users.to_vec());
        self
    }

    /// A certificate of a private authority, [`RegistryServer::authority`].
    pub fn with_tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// Starts it; installs the program first where it is missing and that is possible.
    pub async fn start(self) -> anyhow::Result<RegistryServer> {
        let launch = async || self.launch().await;
        readiness::on_a_free_port(launch, RegistryServer::ready, |server| &server.component).await
    }

    async fn launch(&self) -> anyhow::Result<RegistryServer> {
        let program = programs::locate("docker-registry", "docker-registry")?;
        let temporary = tempfile::Builder::new().prefix("llsd-registry-").tempdir()?;
        let watchdog = Watchdog::guard(temporary.path())?;
        let dir = temporary.path();
        let pki = Pki::create(dir.join("pki"))?;
        let [port] = free_ports()?;
        let host = format!("127.0.0.1:{port}");
        let mut http = serde_json::json!({ "addr": host, "secret": "of no use elsewhere" });
        if self.tls {
            let serving = pki.server("registry")?;
            http["tls"] =
                serde_json::json!({ "certificate": serving.certificate, "key": serving.key });
        }
        let mut config = serde_json::json!({
            "version": "0.1",
            "log": { "level": "warn" },
            "storage": {
                "filesystem": { "rootdirectory": dir.join("storage") },
                "delete": { "enabled": true },
            },
            "http": http,
        });
        let tokens = self.configure_auth(dir, &mut config).await?;
        // JSON is YAML too.
        let file = dir.join("config.yml");
        fs::write(&file, serde_json::to_vec_pretty(&config)?)?;
        let flags = ["serve".to_owned(), file.display().to_string()];
        let component = Component::spawn("docker-registry", &program, &flags, dir, &watchdog)?;
        let authority = self.tls.then(|| fs::read_to_string(pki.authority_file())).transpose()?;
        Ok(RegistryServer {
            component,
            _watchdog: watchdog,
            host,
            authority,
            tokens,
            users: self.users.clone(),
            log: dir.join("docker-registry.log"),
            _dir: temporary,
        })
    }

    /// Writes who may do what into the registry's configuration; starts the token service it may need.
    async fn configure_auth(
        &self,
        dir: &Path,
        config: &mut serde_json::Value,
    ) -> anyhow::Result<Option<TokenService>> {
        match self.auth {
            Auth::Open => Ok(None),
            Auth::Passwords => {
                let file = dir.join("htpasswd");
                fs::write(&file, user::htpasswd(&self.users)?)?;
                config["auth"] =
                    serde_json::json!({ "htpasswd": { "realm": "test", "path": file } });
                Ok(None)
            }
            Auth::Tokens => {
                let service = TokenService::start(self.users.clone()).await?;
                let file = dir.join("tokens.crt");
                fs::write(&file, service.certificate())?;
                config["auth"] = serde_json::json!({ "token": {
                    "realm": service.realm(),
                    "service": token_service::SERVICE,
                    "issuer": token_service::ISSUER,
                    "rootcertbundle": file,
                } });
                Ok(Some(service))
            }
        }
    }
}

/// A running registry.
#[derive(Debug)]
pub struct RegistryServer {
    component: Component,
    _watchdog: Watchdog,
    host: String,
    authority: Option<String>,
    pub(super) tokens: Option<TokenService>,
    pub(super) users: Vec<User>,
    log: PathBuf,
    // The last field: dropped when nothing writes there any more.
    _dir: TempDir,
}

impl RegistryServer {
    pub fn builder() -> RegistryBuilder {
        RegistryBuilder { auth: Auth::Open, users: Vec::new(), tls: false }
    }

    /// `127.0.0.1:<port>`.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The certificate authority in PEM, with TLS.
    pub fn authority(&self) -> Option<&str> {
        self.authority.as_deref()
    }

    /// Where the token service listens, `127.0.0.1:<port>`; it speaks plain http.
    pub fn token_host(&self) -> Option<&str> {
        self.tokens.as_ref().map(TokenService::host)
    }

    /// How many tokens were asked for.
    pub fn tokens_issued(&self) -> usize {
        self.tokens.as_ref().map_or(0, TokenService::issued)
    }

    /// The requests that came in so far, such as `GET /v2/`, from the registry's own access log.
    pub fn requests(&self) -> anyhow::Result<Vec<String>> {
        let log = fs::read_to_string(&self.log).context("no log")?;
        let request = |line: &str| {
            let (_, rest) = line.split_once("] \"")?;
            let (request, _) = rest.split_once(" HTTP/")?;
            Some(request.to_owned())
        };
        Ok(log.lines().filter_map(request).collect())
    }

    /// Ends it before its time, as a registry that went away.
    pub fn stop(&mut self) {
        self.component.kill();
    }

    /// Freezes it (`STOP`) or lets it go on (`CONT`).
    pub fn signal(&self, signal: &str) -> anyhow::Result<()> {
        self.component.signal(signal)
    }

    async fn ready(&mut self) -> anyhow::Result<()> {
        let client = loopback_client::client(self.authority.as_deref())?;
        let scheme = if self.authority.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{}/v2/", self.host);
        let answers = async || -> anyhow::Result<()> {
            client.get(&url).send().await?;
            Ok(())
        };
        readiness::wait("docker-registry", &mut [&mut self.component], answers).await
    }
}
