//! What watches the operator: a PodMonitor, alerts and a dashboard, for clusters with the Prometheus Operator
//! and Grafana. All of it is a choice, and a component for kustomize.

mod alerts;
mod dashboard;
mod panels;

use serde_json::{Value, json};

use crate::file::File;
use crate::manager::metadata;
use crate::names::{METRICS_READER, MONITORING, labels, selector};
use crate::roles;

pub use alerts::{ALERTS, Alert};
pub use dashboard::dashboard;

/// Where runbooks stand unless somebody says otherwise: in this repository.
pub(crate) const RUNBOOKS: &str = "docs/runbooks";

/// As objects of one namespace, in the order in which they are applied, for an operator of all namespaces
/// or of that one.
pub fn monitoring(namespace: &str, is_cluster_wide: bool) -> Vec<File> {
    let mut scraping = vec![pod_monitor(namespace, is_cluster_wide)];
    if is_cluster_wide {
        scraping.extend(roles::metrics_reader(namespace));
    }
    vec![
        File::new(
            "monitoring/pod-monitor.yaml",
            "Has Prometheus read the figures of every replica.",
            scraping,
        ),
        File::new(
            "monitoring/prometheus-rule.yaml",
            "Alerts about the operator and its servers.",
            vec![rule(namespace, RUNBOOKS)],
        ),
        File::new(
            "monitoring/dashboard.yaml",
            "The dashboard, as Grafana's sidecar finds it.",
            vec![dashboard_map(namespace)],
        ),
    ]
}

pub(crate) fn files(namespace: &str) -> Vec<File> {
    let mut files = monitoring(namespace, true);
    let name = |file: &File| file.name.rsplit('/').next().unwrap_or(file.name);
    let resources: Vec<&str> = files.iter().map(name).collect();
    let component = json!({
        "apiVersion": "kustomize.config.k8s.io/v1alpha1",
        "kind": "Component",
        "resources": resources,
    });
    let purpose = "A component: figures, alerts and a dashboard.";
    files.push(File::new("monitoring/kustomization.yaml", purpose, vec![component]));
    files
}

/// Pods and not the Service: every replica has figures of its own.
pub(crate) fn pod_monitor(namespace: &str, shows_token: bool) -> Value {
    let mut endpoint = json!({"port": "metrics"});
    if shows_token {
        endpoint["authorization"] = authorization();
    }
    json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PodMonitor",
        "metadata": metadata(MONITORING, namespace),
        "spec": {
            "selector": {"matchLabels": selector()},
            "podMetricsEndpoints": [endpoint],
        },
    })
}

/// The token that is shown to the operator.
pub(crate) fn authorization() -> Value {
    json!({"credentials": {"name": METRICS_READER, "key": "token"}})
}

/// The alerts; their runbooks are below an address.
pub(crate) fn rule(namespace: &str, runbooks: &str) -> Value {
    json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": MONITORING, "namespace": namespace, "labels": labels()},
        "spec": {"groups": [alerts::group(runbooks)]},
    })
}

pub(crate) fn dashboard_map(namespace: &str) -> Value {
    let mut labels = labels();
    labels["grafana_dashboard"] = json!("1");
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": format!("{MONITORING}-dashboard"), "namespace": namespace, "labels": labels},
        "data": {"llama-stack-operator.json": format!("{:#}\n", dashboard())},
    })
}
