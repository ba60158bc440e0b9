//! How this user reaches registries: what the command line allows, and the docker login of each
//! repository, tried in order and anonymously last.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use llsd_registry::mirrors::{HostPattern, Registries};
use llsd_registry::{Client, Config, Credential, Error, Image, Limits, Published};
use llsd_registry::{Pushed, Reference, Registry, Repository, Rewritten, Wanted};

use super::docker_login::DockerLogin;
use super::failure::{Failure, Remarks};

/// What `--plain-http` without a host means.
const EVERY_HOST: &str = "*";

/// How the command line lets registries be reached.
#[derive(Debug, Args)]
pub struct Connection {
    /// Speak plain http, without TLS: to every host, or only to this one
    #[arg(
        long,
        value_name = "HOST[:PORT]",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = EVERY_HOST
    )]
    plain_http: Vec<String>,

    /// Trust the authorities in this PEM file too, beside the system's or those of SSL_CERT_FILE
    #[arg(long, value_name = "FILE")]
    ca_file: Vec<PathBuf>,
}

impl Connection {
    /// Whether the command line says anything about it.
    pub fn is_given(&self) -> bool {
        !self.plain_http.is_empty() || !self.ca_file.is_empty()
    }

    fn config(&self) -> Result<Config, Failure> {
        let mut registries = Registries::default();
        // Who types a command may reach whatever the machine can.
        registries.allow_private(HostPattern::every());
        for host in &self.plain_http {
            let hosts = match host.as_str() {
                EVERY_HOST => HostPattern::every(),
                host => HostPattern::parse(host)
                    .map_err(|wrong| Failure::Usage(format!("--plain-http={host}: {wrong}")))?,
            };
            registries.allow_plain_http(hosts);
        }
        for file in &self.ca_file {
            let wrong = |why: &dyn std::fmt::Display| {
                Failure::Usage(format!("--ca-file {}: {why}", file.display()))
            };
            let text = std::fs::read_to_string(file).map_err(|error| wrong(&error))?;
            registries.trust(HostPattern::every(), &text).map_err(|why| wrong(&why))?;
        }
        // The TLS library reads this file itself, but would not say that it is not there.
        if let Some(file) = std::env::var_os("SSL_CERT_FILE").filter(|file| !file.is_empty()) {
            std::fs::metadata(&file).map_err(|error| {
                Failure::Usage(format!("SSL_CERT_FILE: {}: {error}", file.display()))
            })?;
        }
        // Images of servers with models in them have layers of tens of gigabytes; the user waits.
        let limits = Limits {
            layer: 64 << 30,
            unpacked_layer: 256 << 30,
            lookup: Duration::from_hours(2),
            ..Limits::default()
        };
        Ok(Config { registries, limits })
    }
}

/// The registries as this user sees them.
#[derive(Debug)]
pub struct Access {
    config: Config,
    pub client: Client,
    login: DockerLogin,
}

/// An image with the credential that opened it.
#[derive(Debug)]
pub struct Opened {
    pub image: Published,
    pub credential: Option<Credential>,
}

impl Access {
    pub fn new(connection: &Connection, remarks: &mut Remarks) -> Result<Self, Failure> {
        let config = connection.config()?;
        let client = Client::new(config.clone());
        Ok(Self { config, client, login: DockerLogin::of_user(remarks) })
    }

    /// The user's credentials for a repository, none last.
    async fn credentials(
        &self,
        reference: &Reference,
        remarks: &mut Remarks,
    ) -> Vec<Option<Credential>> {
        let found = self.login.credentials(reference, remarks).await;
        found.into_iter().map(Some).chain([None]).collect()
    }

    /// Reads an image as the first credential that may.
    pub async fn open(
        &self,
        reference: &Reference,
        remarks: &mut Remarks,
    ) -> Result<Opened, Error> {
        let mut first = None;
        for credential in self.credentials(reference, remarks).await {
            let repository = self.client.repository(reference, credential.as_ref());
            match Box::pin(Published::fetch(repository)).await {
                Ok(image) => return Ok(Opened { image, credential }),
                // The answer to a credential says more than the one that everybody gets.
                Err(error @ (Error::Unauthorised { .. } | Error::NotFound { .. })) => {
                    first.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        Err(first.unwrap_or_else(|| Error::Unauthorised { at: reference.to_string() }))
    }

    /// The image as the operator reads it, with the operator's own limits.
    pub async fn look_up(
        &self,
        reference: &Reference,
        credential: Option<&Credential>,
    ) -> Result<std::sync::Arc<Image>, Error> {
        let credentials: Vec<Credential> = credential.into_iter().cloned().collect();
        self.as_operator().find(reference, &credentials).await
    }

    /// What the operator would find in an image, with the operator's own limits.
    pub async fn find(
        &self,
        reference: &Reference,
        wanted: Wanted,
        remarks: &mut Remarks,
    ) -> Result<std::sync::Arc<Image>, Error> {
        let credentials = self.login.credentials(reference, remarks).await;
        self.as_operator().find_with(reference, wanted, &credentials).await
    }

    fn as_operator(&self) -> Registry {
        Registry::new(Config { limits: Limits::default(), ..self.config.clone() })
    }

    /// Writes an image as the first credential that may.
    pub async fn push(
        &self,
        image: &Rewritten<'_>,
        source: (&Reference, Option<&Credential>),
        target: &Reference,
        remarks: &mut Remarks,
    ) -> Result<Pushed, Error> {
        let source = self.client.repository(source.0, source.1);
        let write = async |target: Repository<'_>| Box::pin(image.push(source, target)).await;
        self.writing(target, remarks, write).await
    }

    /// Writes to a repository as the first credential that may.
    pub async fn writing<T>(
        &self,
        target: &Reference,
        remarks: &mut Remarks,
        write: impl AsyncFn(Repository<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut first = None;
        for credential in self.credentials(target, remarks).await {
            let repository = self.client.repository(target, credential.as_ref());
            match Box::pin(write(repository)).await {
                Err(error @ (Error::Unauthorised { .. } | Error::MayNotPush { .. })) => {
                    first.get_or_insert(error);
                }
                other => return other,
            }
        }
        Err(first.unwrap_or_else(|| Error::MayNotPush { at: target.name() }))
    }
}
