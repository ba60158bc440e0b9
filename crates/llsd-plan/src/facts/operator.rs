//! What the operator knows of itself and of its own configuration.

use std::collections::{BTreeMap, BTreeSet};

use llsd_api::GROUP;
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
    /// Whether resources may change the pods that the operator would make.
    #[serde(skip_serializing_if = "is_default")]
    pub overrides: OverridesPolicy,
    /// How servers may be exposed.
    #[serde(skip_serializing_if = "is_default")]
    pub exposure: ExposureLimits,
    /// Only some images may run, so that volumes may not bring others.
    #[serde(skip_serializing_if = "is_default")]
    pub restricts_images: bool,
    /// What becomes of changes that fail, where the resource does not say it.
    pub rollback: RollbackPolicy,
    /// Whether changes are checked before they are rolled out, where the resource does not say it.
    pub preflight: PreflightPolicy,
    /// What is known of server releases: the shipped table, unless a test has another.
    #[serde(skip)]
    pub releases: &'static Releases,
}

/// Whether resources may set `workload.overrides`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OverridesPolicy {
    #[default]
    Allow,
    Forbid,
}

/// Under which names servers may be exposed, and with which annotations. What is not set allows all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ExposureLimits {
    /// Domains, each with all names below it. One that begins with `*.` stands for the wildcard and the names
    /// below the domain.
    pub allowed_domains: Option<BTreeSet<String>>,
    /// Names of annotations; one that ends in `*` stands for all that begin so.
    pub allowed_annotations: Option<BTreeSet<String>>,
}

impl ExposureLimits {
    /// No host name of a resource's own, and no annotation.
    pub fn allowing_none() -> Self {
        Self { allowed_domains: Some(BTreeSet::new()), allowed_annotations: Some(BTreeSet::new()) }
    }

    /// Whether a host name lies in an allowed domain. A wildcard takes every name below a domain that no other
    /// server has, so it must itself be listed.
    pub fn allows_host(&self, host: &str) -> bool {
        let is_in = |domain: &String| match domain.strip_prefix("*.") {
            _ if host.starts_with("*.") => host == domain,
            Some(domain) => is_below(host, domain),
            None => host == domain || is_below(host, domain),
        };
        self.allowed_domains.as_ref().is_none_or(|domains| domains.iter().any(is_in))
    }

    /// Whether an annotation may be set. The operator's own always may.
    pub fn allows_annotation(&self, name: &str) -> bool {
        let is_own = name.strip_prefix(GROUP).is_some_and(|rest| rest.starts_with('/'));
        let is_meant = |allowed: &String| match allowed.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == allowed,
        };
        is_own
            || self.allowed_annotations.as_ref().is_none_or(|allowed| allowed.iter().any(is_meant))
    }
}

fn is_below(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|above| above.ends_with('.'))
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_lie_in_allowed_domains_and_annotations_begin_as_allowed() {
        let set = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        let limits = ExposureLimits {
            allowed_domains: set(&["apps.example.com", "ai.example.org", "*.team.example.com"]),
            allowed_annotations: set(&["example.com/team", "cert-manager.io/*"]),
        };
        for (host, allowed) in [
            ("apps.example.com", true),
            ("llama.apps.example.com", true),
            ("a.b.ai.example.org", true),
            ("*.apps.example.com", false),
            ("*.llama.apps.example.com", false),
            ("*.team.example.com", true),
            ("*.llama.team.example.com", false),
            ("llama.team.example.com", true),
            ("team.example.com", false),
            ("otherteam.example.com", false),
            ("*.example.com", false),
            ("example.com", false),
            ("otherapps.example.com", false),
            ("apps.example.com.evil.org", false),
        ] {
            assert_eq!(limits.allows_host(host), allowed, "{host}");
            assert!(ExposureLimits::default().allows_host(host));
        }
        for (name, allowed) in [
            ("example.com/team", true),
            ("example.com/team-b", false),
            ("cert-manager.io/issuer", true),
            ("nginx.ingress.kubernetes.io/server-snippet", false),
            ("llamastack.io/request-timeout", true),
            ("llamastack.io.example.com/a", false),
        ] {
            assert_eq!(limits.allows_annotation(name), allowed, "{name}");
            assert!(ExposureLimits::default().allows_annotation(name));
        }
        let none = ExposureLimits::allowing_none();
        assert!(!none.allows_annotation("example.com/team") && !none.allows_host("example.com"));
        assert!(none.allows_annotation("llamastack.io/request-timeout"));
    }
}
