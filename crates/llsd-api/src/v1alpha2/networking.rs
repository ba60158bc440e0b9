//! `spec.networking`: how the server is reached.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::expose::Expose;
use crate::patterns::KEY;
use crate::rules::{TLS_NEEDS_SECRET, validations};

/// Port, TLS, exposure, and who may connect.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkingSpec {
    /// The port that the server listens on.
    #[schemars(range(min = 1024, max = 65535), extend("default" = 8321))]
    pub port: Option<i32>,
    /// TLS of the server, and the certificate authorities that it trusts.
    pub tls: Option<TlsSpec>,
    /// Makes the server reachable from outside the cluster: `true`, or an object that says how.
    pub expose: Option<Expose>,
    /// Who may connect to the server. With it, a NetworkPolicy refuses all others.
    pub allowed_from: Option<AllowedFromSpec>,
}

impl NetworkingSpec {
    /// The server's own default.
    pub const DEFAULT_PORT: i32 = 8321;
}

/// TLS that the server serves, and trust for what it connects to.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = validations(&[TLS_NEEDS_SECRET])))]
pub struct TlsSpec {
    /// Whether the server serves TLS.
    pub enabled: Option<bool>,
    /// The Secret of type `kubernetes.io/tls` with the server's certificate.
    #[schemars(length(min = 1, max = 253))]
    pub secret_name: Option<String>,
    /// Certificate authorities that the server trusts, beside the system's, when it connects to
    /// providers. Independent of `enabled`.
    pub ca_bundle: Option<CaBundleSpec>,
}

/// A ConfigMap with certificates of certificate authorities.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CaBundleSpec {
    /// The ConfigMap's name.
    #[schemars(length(min = 1, max = 253))]
    pub config_map_name: String,
    /// The ConfigMap's namespace. Default: the resource's own.
    #[schemars(length(max = 63))]
    pub config_map_namespace: Option<String>,
    /// The keys to read, in this order. Default: `ca-bundle.crt`.
    #[schemars(
        length(max = 50),
        inner(
            length(min = 1, max = 253),
            regex(pattern = KEY)
        )
    )]
    pub config_map_keys: Option<Vec<String>>,
}

/// Sources of traffic that the NetworkPolicy lets in.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AllowedFromSpec {
    /// Namespaces by name; `*` stands for all of them.
    #[schemars(length(max = 256), inner(length(min = 1, max = 63)))]
    pub namespaces: Option<Vec<String>>,
    /// Namespaces by a label key that they carry.
    #[schemars(length(max = 256), inner(length(min = 1, max = 317)))]
    pub labels: Option<Vec<String>>,
    /// Pods, such as those of a gateway. Where `access` trusts a gateway and `pods` is set, only these pods,
    /// the namespaces that `allowedFrom` names and the operator can connect: other pods of the resource's
    /// own namespace cannot.
    #[schemars(length(max = 64))]
    pub pods: Option<Vec<AllowedPods>>,
}

/// Pods that the NetworkPolicy lets in.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AllowedPods {
    /// Their namespace by name; `*` stands for all of them. Default: the resource's own.
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
    /// Labels that they carry, all of them. Default: every pod of the namespace.
    pub labels: Option<BTreeMap<String, String>>,
    /// The ports of the server's pod that they may connect to, such as that of a sidecar. Default: the
    /// server's.
    #[schemars(length(min = 1, max = 16), inner(range(min = 1, max = 65535)))]
    pub ports: Option<Vec<i32>>,
}
