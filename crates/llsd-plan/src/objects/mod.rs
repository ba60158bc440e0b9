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

use llsd_api::v1alpha2::LlamaStackDistributionSpec;

use crate::config::era::Server;
use crate::facts::Facts;
use crate::sha256;
use crate::wiring::{Database, ExternalInstall, RedisSidecar, Variable};

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
        Self::Generated { hash: sha256::hex(&text), text }
    }
}
