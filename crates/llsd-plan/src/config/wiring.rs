//! What a generated configuration needs of its pod: variables, a sidecar, a database's Secret,
//! packages. Generation asks for it, and the objects provide it; neither knows the other.

use llsd_api::secret_ref::SecretKey;
use llsd_api::v1alpha2::PullPolicy;

use crate::problems::FieldPath;
use crate::values::connection::{Connection, Form};

/// An environment variable of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    pub value: VariableValue,
}

impl Variable {
    pub fn literal(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: VariableValue::Literal(value.into()) }
    }

    pub fn secret(name: impl Into<String>, secret: SecretKey) -> Self {
        Self { name: name.into(), value: VariableValue::Secret(secret) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariableValue {
    Literal(String),
    Secret(SecretKey),
}

/// The variable that says which backends must have the models of the file before the server starts.
pub const AWAITED_MODELS: &str = "LLS_AWAITED_MODELS";

/// The database that a connection string names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Database {
    pub form: Form,
    /// None where only the cluster knows the connection string.
    pub connection: Option<Connection>,
    /// The keyed hash of the connection string, where that is known.
    pub hash: Option<String>,
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

/// An external provider's package that is installed in the pod before the server starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalInstall {
    pub provider_id: String,
    /// The API, as the image spells it.
    pub api: String,
    /// Pinned to its digest where that is known.
    pub image: String,
    pub pull_policy: Option<PullPolicy>,
    /// Where the resource has it.
    pub path: FieldPath,
    /// The name of its init container.
    pub container: String,
    /// What its labels say, where those speak for the image.
    pub labels: Option<ProviderLabels>,
}

/// What the labels of a provider's image say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderLabels {
    pub provider_type: String,
    pub module: String,
    /// Where the package has no module `provider`.
    pub config_class: Option<String>,
}
