//! `spec.storage`: where the server keeps its state.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::lenient::Lenient;
use crate::rules::{
    CONNECTION_STRING_IS_FOR_POSTGRES, ENDPOINT_IS_FOR_REDIS, ENDPOINT_WITHOUT_CREDENTIALS,
    PASSWORD_IS_FOR_REDIS, POSTGRES_NEEDS_CONNECTION_STRING, REDIS_NEEDS_ENDPOINT, validations,
};
use crate::secret_ref::SecretRef;

/// The two kinds of state. What is not given stays as the distribution has it.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StateStorageSpec {
    /// Keys and values: registered resources, agents' memory.
    pub kv: Option<KvStorageSpec>,
    /// Tables: conversations, responses, files.
    pub sql: Option<SqlStorageSpec>,
}

/// Key-value storage.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = validations(&[
    REDIS_NEEDS_ENDPOINT, ENDPOINT_IS_FOR_REDIS, PASSWORD_IS_FOR_REDIS, ENDPOINT_WITHOUT_CREDENTIALS,
])))]
pub struct KvStorageSpec {
    /// `sqlite`, a file on the server's volume, or `redis`.
    #[serde(rename = "type")]
    #[schemars(extend("default" = "sqlite"))]
    pub kind: Option<KvType>,
    /// The Redis server, as `redis://HOST:PORT`, or `rediss://` for TLS. Only for `redis`.
    #[schemars(length(min = 1, max = 2048))]
    pub endpoint: Option<String>,
    /// The Secret with the Redis password. Only for `redis`.
    pub password: Option<Lenient<SecretRef>>,
}

/// Kinds of key-value storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KvType {
    #[default]
    Sqlite,
    Redis,
}

/// Relational storage.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = validations(&[
    POSTGRES_NEEDS_CONNECTION_STRING, CONNECTION_STRING_IS_FOR_POSTGRES,
])))]
pub struct SqlStorageSpec {
    /// `sqlite`, a file on the server's volume, or `postgres`.
    #[serde(rename = "type")]
    #[schemars(extend("default" = "sqlite"))]
    pub kind: Option<SqlType>,
    /// The Secret with the connection string, as `postgresql://USER:PASSWORD@HOST:PORT/DB` or in
    /// `key=value` form. Only for `postgres`.
    pub connection_string: Option<Lenient<SecretRef>>,
}

/// Kinds of relational storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SqlType {
    #[default]
    Sqlite,
    Postgres,
}
