//! What the operator knows of itself and of its own configuration.

use std::collections::{BTreeMap, BTreeSet};

use llsd_api::v1alpha2::{PreflightPolicy, RollbackPolicy};
use serde::{Deserialize, Serialize};

use crate::releases::Releases;

/// What the operator knows of itself and of its own configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct OperatorFacts {
    pub namespace: Option<String>,
    /// The operator's own accounts there, which no resource may name. The command line does not know them.
    #[serde(skip)]
    pub own_accounts: BTreeSet<String>,
    /// The same of Secrets.
    #[serde(skip)]
    pub own_secrets: BTreeSet<String>,
    /// The operator's own image, which the Redis sidecar and the installer of providers run.
    pub image: Option<String>,
    /// `image-overrides` of the operator's ConfigMap, by distribution name.
    pub image_overrides: BTreeMap<String, String>,
    /// The `RELATED_IMAGE_…` variables of the operator, by distribution name.
    pub related_images: BTreeMap<String, String>,
    /// `enableNetworkPolicy` of the operator's ConfigMap, where it is set.
    pub network_policy: Option<bool>,
    /// The domain under which exposed servers without a host name of their own are reached.
    pub ingress_domain: Option<String>,
    /// The cluster's DNS domain, where it is not [`CLUSTER_DOMAIN`].
    pub cluster_domain: Option<String>,
    /// The other namespaces in which `caBundle` may name a ConfigMap. Offline that is not known, and
    /// then it is no reason to refuse one.
    pub ca_bundle_namespaces: Option<BTreeSet<String>>,
    /// What becomes of changes that fail, where the resource does not say it.
    pub rollback: RollbackPolicy,
    /// Whether changes are checked before they are rolled out, where the resource does not say it.
    pub preflight: PreflightPolicy,
    /// What is known of server releases: the shipped table, unless a test has another.
    #[serde(skip)]
    pub releases: &'static Releases,
}

/// The operator's own image, where the operator does not know it: the release's.
pub const DEFAULT_OPERATOR_IMAGE: &str =
    concat!("docker.io/llamastack/llsd-operator:", env!("CARGO_PKG_VERSION"));

/// The DNS domain that clusters have unless somebody chose another.
pub const CLUSTER_DOMAIN: &str = "cluster.local";

/// Stands for all namespaces.
pub const ANY_NAMESPACE: &str = "*";

impl OperatorFacts {
    /// The operator's own image.
    pub fn image(&self) -> &str {
        self.image.as_deref().unwrap_or(DEFAULT_OPERATOR_IMAGE)
    }

    pub fn cluster_domain(&self) -> &str {
        self.cluster_domain.as_deref().unwrap_or(CLUSTER_DOMAIN)
    }

    /// Whether a resource of another namespace may trust what a ConfigMap of this one holds.
    pub fn allows_ca_bundle_of(&self, namespace: &str) -> bool {
        let Some(allowed) = &self.ca_bundle_namespaces else { return true };
        allowed.contains(namespace) || allowed.contains(ANY_NAMESPACE)
    }
}
