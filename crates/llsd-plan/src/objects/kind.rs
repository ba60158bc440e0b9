//! The kinds of objects that the operator owns, a row each: how the API server names a kind, how its
//! objects are named, what they are to the server, and whether a cluster may lack the kind. Rights,
//! watches, names, rollout and retention follow from the row.

use self::Naming::{ByContent, Suffix};
use self::Role::{Companion, Data, Exposure, PodInput, Workload};
use crate::facts::Api;

/// How the objects of a kind are named.
#[derive(Clone, Copy, Debug)]
pub(super) enum Naming {
    /// A resource has one object, and this follows the resource's name in its name.
    Suffix(&'static str),
    /// A resource may have several, each with one of these words and a hash of its content.
    ByContent(&'static [&'static str]),
}

/// What the objects of a kind are to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It runs the server.
    Workload,
    /// Pods do not start without it.
    PodInput,
    /// It holds the user's data, and pods do not start without it. The operator never deletes it.
    Data,
    /// It leads to the server from outside of the cluster.
    Exposure,
    /// It serves or protects the server, and pods start without it.
    Companion,
}

/// Which clusters serve a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServedBy {
    All,
    Some,
}

/// One enum from the rows.
macro_rules! kinds {
    ($($kind:ident: $group:literal, $version:literal, $name:literal, $plural:literal,
        $naming:expr, $role:expr, $served_by:expr;)*) => {
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

            pub(super) const fn naming(self) -> Naming {
                match self { $(Self::$kind => $naming,)* }
            }

            pub const fn role(self) -> Role {
                match self { $(Self::$kind => $role,)* }
            }

            const fn served_by(self) -> ServedBy {
                match self { $(Self::$kind => $served_by,)* }
            }
        }
    };
}

kinds! {
    ServiceAccount: "", "v1", "ServiceAccount", "serviceaccounts",
        Suffix("-sa"), PodInput, ServedBy::All;
    VolumeClaim: "", "v1", "PersistentVolumeClaim", "persistentvolumeclaims",
        Suffix("-pvc"), Data, ServedBy::All;
    Secret: "", "v1", "Secret", "secrets",
        ByContent(&["-storage"]), PodInput, ServedBy::All;
    ConfigMap: "", "v1", "ConfigMap", "configmaps",
        ByContent(&["-config", "-start", "-ca-bundle"]), PodInput, ServedBy::All;
    NetworkPolicy: "networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies",
        Suffix("-network-policy"), Companion, ServedBy::All;
    Service: "", "v1", "Service", "services",
        Suffix("-service"), Companion, ServedBy::All;
    Deployment: "apps", "v1", "Deployment", "deployments",
        Suffix(""), Workload, ServedBy::All;
    DisruptionBudget: "policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets",
        Suffix("-pdb"), Companion, ServedBy::All;
    Autoscaler: "autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers",
        Suffix("-hpa"), Companion, ServedBy::All;
    Job: "batch", "v1", "Job", "jobs",
        ByContent(&["-preflight"]), Companion, ServedBy::All;
    Ingress: "networking.k8s.io", "v1", "Ingress", "ingresses",
        Suffix("-ingress"), Exposure, ServedBy::All;
    HttpRoute: "gateway.networking.k8s.io", "v1", "HTTPRoute", "httproutes",
        Suffix(""), Exposure, ServedBy::Some;
    // OpenShift makes a host name out of the Route's name and namespace: without a suffix the host is
    // the one that an Ingress would have under the same domain.
    Route: "route.openshift.io", "v1", "Route", "routes",
        Suffix(""), Exposure, ServedBy::Some;
    ServiceMonitor: "monitoring.coreos.com", "v1", "ServiceMonitor", "servicemonitors",
        Suffix(""), Companion, ServedBy::Some;
}

impl ObjectKind {
    /// Whether rules beside the plan say what becomes of it: pods are replaced only by what may replace them,
    /// and data stays.
    pub fn follows_rules(self) -> bool {
        matches!(self.role(), Role::Workload | Role::Data)
    }

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

    /// Whether a resource may have several objects of this kind, each with a hash in its name.
    pub const fn is_named_by_content(self) -> bool {
        matches!(self.naming(), ByContent(_))
    }

    /// Secrets are never listed or watched: the operator's role does not allow it.
    pub const fn is_watched(self) -> bool {
        !matches!(self, Self::Secret)
    }

    /// Whether a cluster may lack it.
    pub const fn is_optional(self) -> bool {
        matches!(self.served_by(), ServedBy::Some)
    }

    /// The resource that makes an object of this kind and name.
    pub fn resource_named(self, name: &str) -> Option<&str> {
        match self.naming() {
            Suffix(suffix) => name.strip_suffix(suffix).filter(|resource| !resource.is_empty()),
            ByContent(words) => named_by_content(name, words),
        }
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
                    names::former_start_program("llama", "0a1b2c3d"),
                ],
            };
            for name in named {
                assert_eq!(kind.resource_named(&name), Some("llama"), "{name}");
            }
        }
        let twice = names::former_start_program("a-config-b", "0a1b2c3d");
        assert_eq!(ObjectKind::ConfigMap.resource_named(&twice), Some("a-config-b"));
        let twice = names::storage_secret("a-storage-b", None);
        assert_eq!(ObjectKind::Secret.resource_named(&twice), Some("a-storage-b"));
        assert_eq!(ObjectKind::Service.resource_named("llama"), None);
        assert_eq!(ObjectKind::ConfigMap.resource_named("kube-root-ca.crt"), None);
    }
}
