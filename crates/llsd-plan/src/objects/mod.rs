//! Every object that the operator owns, planned from one [`Blueprint`], one file each. Names,
//! labels, selectors, volumes and paths are those of the Go operator's v0.9, so that its objects
//! are taken over as they are.

mod autoscaler;
mod ca_bundle;
pub mod certificates;
mod command;
pub mod config_map;
mod deployment;
mod disruption_budget;
mod environment;
pub mod exposure;
mod external_providers;
mod http_route;
mod ingress;
mod kind;
pub mod labels;
pub mod names;
mod network_policy;
mod owner;
pub mod paths;
mod pem;
mod planned;
mod pod;
mod probes;
mod resources;
mod route;
mod scheduling;
mod security;
pub mod service;
mod service_account;
mod settings;
mod sidecar;
mod storage_secret;
mod trust;
mod volume_claim;
mod volumes;

use llsd_api::secret_ref::SecretKey;
use llsd_api::v1alpha2::{LlamaStackDistributionSpec, PullPolicy};

use crate::config::era::Server;
use crate::connection::{Connection, Form};
use crate::facts::Facts;

pub use command::LAUNCH;
pub use kind::ObjectKind;
pub use planned::{Objects, PlannedObject, objects};
pub use settings::DEFAULT_PORT;
pub use sidecar::DEFAULT_OPERATOR_IMAGE;
pub use trust::TRUST;

/// What the objects are made from: the resource, the facts, and what generation decided.
#[derive(Clone, Debug)]
pub struct Blueprint<'a> {
    pub name: &'a str,
    pub namespace: &'a str,
    pub spec: &'a LlamaStackDistributionSpec,
    pub facts: &'a Facts,
    /// The image to run, pinned to its digest where that is known.
    pub image: String,
    /// `llama-stack`, unless a v1alpha1 object named its container otherwise.
    pub container_name: String,
    pub config: ConfigSource,
    /// The server that the image holds.
    pub server: Server,
    /// Environment that generation asks for: secrets, telemetry, storage.
    pub environment: Vec<Variable>,
    /// The sidecar that logs in to Redis for the server.
    pub redis: Option<RedisSidecar>,
    /// The database whose parts the owned Secret holds.
    pub database: Option<Database>,
    /// A hash over the referenced secrets' hashes; it changes when one of them does.
    pub secret_hash: Option<String>,
    /// Certificates that the server trusts, as one PEM text.
    pub ca_bundle: Option<String>,
    pub external_providers: Vec<ExternalInstall>,
    /// The state of the resource that is planned for; none offline.
    pub planned_for: Option<String>,
}

/// Where the server's configuration comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigSource {
    /// A file of ours in an immutable ConfigMap, whose name and whose pods carry its hash.
    Generated { text: String, hash: String },
    /// The user's own ConfigMap; `hash` is of the key's content, where that is known.
    Override { config_map: String, key: String, hash: Option<String> },
    /// The file inside the image.
    Default,
}

impl ConfigSource {
    pub fn generated(text: String) -> Self {
        Self::Generated { hash: config_map::content_hash(&text), text }
    }
}

/// An environment variable of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    pub value: VariableValue,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariableValue {
    Literal(String),
    Secret(SecretKey),
}

/// The database that a connection string names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Database {
    Known(Connection, Form),
    /// Only the cluster knows the connection string.
    Unknown(Form),
}

/// The Redis that the sidecar connects to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisSidecar {
    /// `redis://HOST:PORT` or `rediss://HOST:PORT`, without credentials.
    pub target: String,
    pub password: Option<SecretKey>,
}

/// The loopback port on which the Redis sidecar listens.
pub const REDIS_SIDECAR_PORT: u16 = 6380;

/// An external provider's package that is copied into the pod before the server starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalInstall {
    pub provider_id: String,
    pub image: String,
    pub pull_policy: Option<PullPolicy>,
}
