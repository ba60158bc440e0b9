//! What the fingerprint must know of the kinds that we own: which lists and maps the API server
//! merges, which hold quantities, and what it fills in where it does not merge. A field's name says
//! it, over all those kinds; a test holds the names against the schemas of a real API server.

/// How the API server treats a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// One value, owned as a whole.
    Atomic,
    /// Several managers own items, and fields of items.
    Merged,
    /// Several managers own items, each as a whole.
    MergedOfWholeItems,
}

pub fn list_kind(name: &str) -> ListKind {
    match name {
        "claims"
        | "containers"
        | "env"
        | "ephemeralContainers"
        | "hostAliases"
        | "initContainers"
        | "ports"
        | "resourceClaims"
        | "schedulingGates"
        | "topologySpreadConstraints"
        | "volumeDevices"
        | "volumeMounts"
        | "volumes" => ListKind::Merged,
        "bindMountOptions" | "evictionResponders" | "finalizers" | "imagePullSecrets"
        | "ownerReferences" | "secrets" => ListKind::MergedOfWholeItems,
        _ => ListKind::Atomic,
    }
}

/// Whether a map of this name is one value, owned as a whole.
pub fn is_atomic_map(name: &str) -> bool {
    const ATOMIC: [&str; 17] = [
        "configMapKeyRef",
        "dataSource",
        "fieldRef",
        "fileKeyRef",
        "labelSelector",
        "namespaceSelector",
        "nodePublishSecretRef",
        "nodeSelector",
        "podSelector",
        "port",
        "preference",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "resource",
        "resourceFieldRef",
        "secretKeyRef",
        "secretRef",
        "selector",
    ];
    ATOMIC.contains(&name)
}

/// Whether the keys of an atomic map of this name are the user's, so that an empty text says
/// something in it: the server keeps it there, and drops it elsewhere.
pub fn has_free_keys(name: &str) -> bool {
    matches!(name, "matchLabels" | "nodeSelector" | "selector" | "userAnnotations")
}

/// Whether a field holds a quantity, which the server stores in its own spelling.
pub fn is_quantity(parent: &str, name: &str) -> bool {
    matches!(parent, "limits" | "overhead" | "requests")
        || matches!(
            (parent, name),
            ("emptyDir", "sizeLimit")
                | ("resourceFieldRef", "divisor")
                | ("target", "averageValue" | "value")
                | ("scaleDown" | "scaleUp", "tolerance")
        )
}

/// What the server fills in inside of an atomic list or map, where we own it without having
/// applied it: parent, field and value.
pub(super) const DEFAULTS: [(&str, &str, &str); 7] = [
    ("fieldRef", "apiVersion", "v1"),
    ("resourceFieldRef", "divisor", "0"),
    ("serviceAccountToken", "expirationSeconds", "3600"),
    ("parentRefs", "group", "gateway.networking.k8s.io"),
    ("parentRefs", "kind", "Gateway"),
    ("backendRefs", "kind", "Service"),
    ("backendRefs", "weight", "1"),
];
