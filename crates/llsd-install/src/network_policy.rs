//! Who may connect to the operator itself. The API server and the kubelet have no labels that a policy
//! could select, and in most clusters no addresses that are known beforehand: their ports are open to all
//! until somebody who knows the addresses narrows them. Figures are for namespaces that monitor.

use serde_json::{Value, json};

use crate::manager::metadata;
use crate::names::{HEALTH_PORT, METRICS_PORT, NETWORK_POLICY, WEBHOOK_PORT, selector};

/// Labels of namespaces that may read figures: the one that people set, and OpenShift's own.
const MONITORING: [(&str, &str); 2] =
    [("metrics", "enabled"), ("network.openshift.io/policy-group", "monitoring")];

pub(crate) fn all(namespace: &str) -> Vec<Value> {
    let tcp = |port: u16| json!({"port": port, "protocol": "TCP"});
    let monitoring = MONITORING
        .map(|(label, value)| json!({"namespaceSelector": {"matchLabels": {label: value}}}));
    vec![json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(NETWORK_POLICY, namespace),
        "spec": {
            "podSelector": {"matchLabels": selector()},
            "policyTypes": ["Ingress"],
            "ingress": [
                {"ports": [tcp(WEBHOOK_PORT), tcp(HEALTH_PORT)]},
                {"ports": [tcp(METRICS_PORT)], "from": monitoring},
            ],
        },
    })]
}
