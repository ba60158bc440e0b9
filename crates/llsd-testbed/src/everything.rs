//! A resource that asks for every kind of object that each cluster serves.

use std::sync::LazyLock;

use llsd_plan::objects::{ObjectKind, names};
use serde_json::{Value, json};

use crate::authority::authority;
use crate::namespace::Namespace;

/// The objects of such a resource in the order in which they are applied: kind, and what follows
/// the resource's name, and where it ends with a hyphen a hash of the content follows that
/// ([`Namespace::find`]). The generated ConfigMap stands after the bundle of certificates.
pub static OBJECTS: LazyLock<Vec<(&str, String)>> = LazyLock::new(|| {
    let served = ObjectKind::ALL.iter().filter(|kind| !kind.is_optional());
    let suffix = |kind: &ObjectKind| match kind {
        ObjectKind::Secret => Some("-storage-".to_owned()),
        ObjectKind::ConfigMap => Some("-ca-bundle-".to_owned()),
        // A Job is made for a change, not for a resource.
        kind => names::only_name(*kind, ""),
    };
    served.filter_map(|kind| Some((kind.name(), suffix(kind)?))).collect()
});

/// What the resource refers to.
pub async fn prepare(namespace: &Namespace<'_>) {
    let authorities = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "authorities"},
        "data": {"ca-bundle.crt": authority("everything")},
    });
    namespace.apply(&authorities.to_string()).await;
    let database = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "database"},
        "stringData": {"dsn": "postgresql://llama:password@postgres:5432/llama"},
    });
    namespace.apply(&database.to_string()).await;
}

pub fn spec() -> Value {
    let dsn = json!({"secretKeyRef": {"name": "database", "key": "dsn"}});
    json!({
        "distribution": {"name": "starter"},
        "providers": {"inference": {"provider": "vllm", "endpoint": "http://vllm:8000"}},
        "storage": {"sql": {"type": "postgres", "connectionString": dsn}},
        "networking": {
            "expose": true,
            "allowedFrom": {"namespaces": ["friends"]},
            "tls": {"caBundle": {"configMapName": "authorities"}},
        },
        "workload": {
            "storage": {"size": "1Gi"},
            "autoscaling": {"maxReplicas": 3},
            "podDisruptionBudget": {"maxUnavailable": 1},
        },
    })
}
