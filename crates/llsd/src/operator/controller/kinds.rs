//! The kinds of objects that the operator owns, and how the API server calls them.

use kube::core::ApiResource;
use kube::{Api, Client};
use serde_json::Value;

use super::object::Object;

/// One kind of owned object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    ServiceAccount,
    VolumeClaim,
    Secret,
    ConfigMap,
    NetworkPolicy,
    Service,
    Deployment,
    DisruptionBudget,
    Autoscaler,
    Ingress,
    HttpRoute,
    Route,
}

impl Kind {
    pub const ALL: [Self; 12] = [
        Self::ServiceAccount,
        Self::VolumeClaim,
        Self::Secret,
        Self::ConfigMap,
        Self::NetworkPolicy,
        Self::Service,
        Self::Deployment,
        Self::DisruptionBudget,
        Self::Autoscaler,
        Self::Ingress,
        Self::HttpRoute,
        Self::Route,
    ];

    /// Group, version, kind and plural.
    const fn names(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            Self::ServiceAccount => ("", "v1", "ServiceAccount", "serviceaccounts"),
            Self::VolumeClaim => ("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
            Self::Secret => ("", "v1", "Secret", "secrets"),
            Self::ConfigMap => ("", "v1", "ConfigMap", "configmaps"),
            Self::NetworkPolicy => ("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies"),
            Self::Service => ("", "v1", "Service", "services"),
            Self::Deployment => ("apps", "v1", "Deployment", "deployments"),
            Self::DisruptionBudget => {
                ("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")
            }
            Self::Autoscaler => {
                ("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
            }
            Self::Ingress => ("networking.k8s.io", "v1", "Ingress", "ingresses"),
            Self::HttpRoute => ("gateway.networking.k8s.io", "v1", "HTTPRoute", "httproutes"),
            Self::Route => ("route.openshift.io", "v1", "Route", "routes"),
        }
    }

    /// The API group.
    pub const fn group(self) -> &'static str {
        self.names().0
    }

    /// The name that users know it by.
    pub const fn name(self) -> &'static str {
        self.names().2
    }

    /// Secrets are never listed or watched: the operator's role does not allow it.
    pub const fn is_watched(self) -> bool {
        !matches!(self, Self::Secret)
    }

    /// Whether a cluster may lack it.
    pub const fn is_optional(self) -> bool {
        matches!(self, Self::HttpRoute | Self::Route)
    }

    /// The kind of a planned object.
    pub fn of(object: &Value) -> Option<Self> {
        let kind = object["kind"].as_str()?;
        Self::ALL.into_iter().find(|known| known.name() == kind)
    }

    /// The resource that makes an object of this kind and name.
    pub fn resource_named(self, name: &str) -> Option<&str> {
        let suffix = match self {
            Self::Deployment | Self::HttpRoute | Self::Route => "",
            Self::ServiceAccount => "-sa",
            Self::VolumeClaim => "-pvc",
            Self::Secret => "-storage",
            Self::NetworkPolicy => "-network-policy",
            Self::Service => "-service",
            Self::DisruptionBudget => "-pdb",
            Self::Autoscaler => "-hpa",
            Self::Ingress => "-ingress",
            Self::ConfigMap => {
                let generated = name.rsplit_once("-config-").map(|(resource, _)| resource);
                return name.strip_suffix("-ca-bundle").or(generated);
            }
        };
        name.strip_suffix(suffix).filter(|resource| !resource.is_empty())
    }

    pub fn resource(self) -> ApiResource {
        let (group, version, kind, plural) = self.names();
        let api_version =
            if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        ApiResource {
            group: group.to_owned(),
            version: version.to_owned(),
            api_version,
            kind: kind.to_owned(),
            plural: plural.to_owned(),
        }
    }

    pub fn in_namespace(self, client: &Client, namespace: &str) -> Api<Object> {
        Api::namespaced_with(client.clone(), namespace, &self.resource())
    }
}

/// The resources of one namespace.
pub fn distributions_in(client: &Client, namespace: &str) -> Api<Object> {
    Api::namespaced_with(client.clone(), namespace, &distribution())
}

/// The operator's own resource, as it is stored.
pub fn distribution() -> ApiResource {
    ApiResource {
        group: llsd_api::GROUP.to_owned(),
        version: "v1alpha2".to_owned(),
        api_version: format!("{}/v1alpha2", llsd_api::GROUP),
        kind: llsd_api::KIND.to_owned(),
        plural: "llamastackdistributions".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use llsd_plan::objects::names;

    use super::*;

    #[test]
    fn the_name_of_an_object_tells_its_resource() {
        let named = [
            (Kind::ServiceAccount, names::service_account("llama")),
            (Kind::VolumeClaim, names::volume_claim("llama")),
            (Kind::Secret, names::storage_secret("llama")),
            (Kind::ConfigMap, names::ca_bundle("llama")),
            (Kind::ConfigMap, "llama-config-0a1b2c3d".to_owned()),
            (Kind::NetworkPolicy, names::network_policy("llama")),
            (Kind::Service, names::service("llama")),
            (Kind::Deployment, names::deployment("llama")),
            (Kind::DisruptionBudget, names::disruption_budget("llama")),
            (Kind::Autoscaler, names::autoscaler("llama")),
            (Kind::Ingress, names::ingress("llama")),
            (Kind::HttpRoute, names::http_route("llama")),
            (Kind::Route, names::route("llama")),
        ];
        for (kind, name) in named {
            assert_eq!(kind.resource_named(&name), Some("llama"), "{name}");
        }
        assert_eq!(Kind::Service.resource_named("llama"), None);
        assert_eq!(Kind::ConfigMap.resource_named("kube-root-ca.crt"), None);
    }

    #[test]
    fn a_planned_object_is_recognised_by_its_kind() {
        for kind in Kind::ALL {
            let object = serde_json::json!({"kind": kind.name()});
            assert_eq!(Kind::of(&object), Some(kind));
        }
        assert_eq!(Kind::of(&serde_json::json!({"kind": "Pod"})), None);
    }
}
