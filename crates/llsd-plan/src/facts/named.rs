//! What is known of the Secrets, ConfigMaps and claims that a resource names.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use serde::{Deserialize, Serialize};

use super::shape::Shape;
use crate::values::connection::Connection;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SecretFacts {
    /// A Secret that was looked for in vain is mentioned with `true` here.
    pub missing: bool,
    /// Why it may not be read, in words for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forbidden: Option<String>,
    /// The keys that were asked for and are there.
    pub keys: BTreeMap<String, SecretKeyFacts>,
}

/// What may be known of a secret value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SecretKeyFacts {
    /// A keyed hash of the value, by which a change is noticed.
    pub hash: String,
    /// The value is empty, and the server would refuse to start.
    pub empty: bool,
    /// The server would read the value as a number or boolean, and refuse to start.
    pub coerced: bool,
    /// What the value looks like, for the one that stands in for it where a change is checked.
    #[serde(skip_serializing_if = "Shape::is_text")]
    pub shape: Shape,
    /// The value read as a database's connection string; it never leaves the process.
    #[serde(skip)]
    pub connection: Option<Result<Connection, &'static str>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ConfigMapFacts {
    /// A ConfigMap that was looked for in vain is mentioned with `true` here.
    pub missing: bool,
    /// Why it may not be read, in words for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forbidden: Option<String>,
    pub data: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub binary_data: BTreeMap<String, ByteString>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ClaimFacts {
    /// A claim that was looked for in vain is mentioned with `true` here.
    pub missing: bool,
    /// How its volume can be mounted.
    pub access_modes: Vec<String>,
}
