//! The kinds of objects that the operator owns, a row each. Whoever works with owned objects matches
//! on all of them, so a kind that is added here and forgotten elsewhere does not compile.

use crate::facts::Api;

/// One enum from the rows: group, version, kind and plural as the API server names them.
macro_rules! kinds {
    ($($kind:ident: $group:literal, $version:literal, $name:literal, $plural:literal;)*) => {
        /// One kind of owned object.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ObjectKind {
            $($kind,)*
        }

        impl ObjectKind {
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// The API group; empty for the core one.
            pub const fn group(self) -> &'static str {
                match self { $(Self::$kind => $group,)* }
            }

            pub const fn version(self) -> &'static str {
                match self { $(Self::$kind => $version,)* }
            }

            /// The name that users know it by.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            /// As it stands in the API server's URLs.
            pub const fn plural(self) -> &'static str {
                match self { $(Self::$kind => $plural,)* }
            }
        }
    };
}

kinds! {
    ServiceAccount: "", "v1", "ServiceAccount", "serviceaccounts";
    VolumeClaim: "", "v1", "PersistentVolumeClaim", "persistentvolumeclaims";
    Secret: "", "v1", "Secret", "secrets";
    ConfigMap: "", "v1", "ConfigMap", "configmaps";
    NetworkPolicy: "networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies";
    Service: "", "v1", "Service", "services";
    Deployment: "apps", "v1", "Deployment", "deployments";
    DisruptionBudget: "policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets";
    Autoscaler: "autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers";
    Job: "batch", "v1", "Job", "jobs";
    Ingress: "networking.k8s.io", "v1", "Ingress", "ingresses";
    HttpRoute: "gateway.networking.k8s.io", "v1", "HTTPRoute", "httproutes";
    Route: "route.openshift.io", "v1", "Route", "routes";
    ServiceMonitor: "monitoring.coreos.com", "v1", "ServiceMonitor", "servicemonitors";
}

impl ObjectKind {
    /// As an object's `apiVersion` has it.
    pub fn api_version(self) -> String {
        match self.group() {
            "" => self.version().to_owned(),
            group => format!("{group}/{}", self.version()),
        }
    }

    /// The resource of the API server that holds objects of this kind.
    pub const fn api(self) -> Api {
        Api { group: self.group(), version: self.version(), plural: self.plural() }
    }

    /// Whether a server is reached from outside by such an object.
    pub const fn is_exposure(self) -> bool {
        matches!(self, Self::Ingress | Self::HttpRoute | Self::Route)
    }

    /// Secrets are never listed or watched: the operator's role does not allow it.
    pub const fn is_watched(self) -> bool {
        !matches!(self, Self::Secret)
    }

    /// Whether a cluster may lack it.
    pub const fn is_optional(self) -> bool {
        matches!(self, Self::HttpRoute | Self::Route | Self::ServiceMonitor)
    }

    /// The resource that makes an object of this kind and name.
    pub fn resource_named(self, name: &str) -> Option<&str> {
        let suffix = match self {
            Self::Deployment | Self::HttpRoute | Self::Route | Self::ServiceMonitor => "",
            Self::ServiceAccount => "-sa",
            Self::VolumeClaim => "-pvc",
            Self::NetworkPolicy => "-network-policy",
            Self::Service => "-service",
            Self::DisruptionBudget => "-pdb",
            Self::Autoscaler => "-hpa",
            Self::Ingress => "-ingress",
            Self::Job => return named_by_content(name, &["-preflight"]),
            Self::Secret => return named_by_content(name, &["-storage"]),
            Self::ConfigMap => {
                return named_by_content(name, &["-config", "-start", "-ca-bundle"]);
            }
        };
        name.strip_suffix(suffix).filter(|resource| !resource.is_empty())
    }
}

/// What stands before one of these words and a hash, or before the word alone, as earlier operators had
/// it. A resource's own name may hold such a word too: the last one counts.
fn named_by_content<'a>(name: &'a str, words: &[&str]) -> Option<&'a str> {
    let before = |word: &&str| {
        name.strip_suffix(*word).or(name.rfind(&format!("{word}-")).map(|end| &name[..end]))
    };
    words.iter().filter_map(before).max_by_key(|resource| resource.len())
}

#[cfg(test)]
mod tests {
    use super::super::names;
    use super::*;

    #[test]
    fn the_name_of_an_object_tells_its_resource() {
        for kind in ObjectKind::ALL {
            let named = match names::only_name(*kind, "llama") {
                Some(name) => vec![name],
                None if *kind == ObjectKind::Secret => vec![
                    names::storage_secret("llama", None),
                    names::storage_secret("llama", Some("0a1b2c3d")),
                ],
                None if *kind == ObjectKind::Job => {
                    vec![names::preflight("llama", "0a1b2c3d")]
                }
                None => vec![
                    names::ca_bundles("llama"),
                    names::ca_bundle("llama", "0a1b2c3d"),
                    "llama-config-0a1b2c3d".to_owned(),
                    names::start_program("llama", "0a1b2c3d"),
                ],
            };
            for name in named {
                assert_eq!(kind.resource_named(&name), Some("llama"), "{name}");
            }
        }
        let twice = names::start_program("a-config-b", "0a1b2c3d");
        assert_eq!(ObjectKind::ConfigMap.resource_named(&twice), Some("a-config-b"));
        let twice = names::storage_secret("a-storage-b", None);
        assert_eq!(ObjectKind::Secret.resource_named(&twice), Some("a-storage-b"));
        assert_eq!(ObjectKind::Service.resource_named("llama"), None);
        assert_eq!(ObjectKind::ConfigMap.resource_named("kube-root-ca.crt"), None);
    }
}
