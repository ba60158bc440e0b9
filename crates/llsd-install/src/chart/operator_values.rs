//! The values of `llsd`.

use llsd_plan::objects::DEFAULT_OPERATOR_IMAGE;
use serde_json::json;

use super::value::Value;
use crate::manager;
use crate::monitoring::RUNBOOKS;
use crate::names::NAMESPACE;
use crate::roles::Scope;

pub(super) fn certificates() -> Value {
    Value::choice(
        "certificates",
        &["operator", "cert-manager", "openshift"],
        "Who makes the certificates of the webhooks. The same in both charts.",
    )
}

pub(super) fn rows() -> Vec<Value> {
    let mut rows = image();
    rows.extend(scope());
    rows.extend(pods());
    rows.extend(features());
    rows.extend(monitoring());
    rows
}

fn image() -> Vec<Value> {
    let (name, _) = DEFAULT_OPERATOR_IMAGE.rsplit_once(':').expect("a tag");
    let (registry, repository) = name.split_once('/').expect("a host");
    vec![
        Value::text("image.registry", registry, "The registry of the operator's image."),
        Value::text("image.repository", repository, "Its repository."),
        Value::text("image.tag", "", "Its tag; empty: the chart's appVersion."),
        Value::new(
            "image.digest",
            json!(""),
            json!({"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"}),
            "Its digest, which wins over the tag.",
        ),
        Value::choice(
            "image.pullPolicy",
            &["IfNotPresent", "Always", "Never"],
            "When nodes pull it.",
        ),
        Value::free(
            "imagePullSecrets",
            json!([]),
            "Secrets with which it is pulled: `[{name: …}]`.",
        ),
    ]
}

/// How many replicas run, which namespaces they watch, and how the network reaches them.
fn scope() -> Vec<Value> {
    vec![
        Value::new(
            "replicas",
            json!(2),
            json!({"type": "integer", "minimum": 1}),
            "Pods of the operator: all serve webhooks, one works.",
        ),
        Value::switch(
            "namespaced",
            false,
            "Roles of the release's namespace alone, which is the only one that is looked after. No webhooks.",
        ),
        Value::new(
            "watchNamespaces",
            json!([]),
            json!({"type": "array", "items": {"type": "string", "minLength": 1}}),
            "Namespaces to look after, each of which must be there; empty: all. Rights hold in these alone.",
        ),
        certificates(),
        Value::text("proxy.https", "", "The proxy for registries: `HTTPS_PROXY`."),
        Value::text("proxy.http", "", "The proxy for registries without TLS: `HTTP_PROXY`."),
        Value::text(
            "proxy.except",
            "",
            "Hosts that are reached without it: `NO_PROXY`. The API server's address belongs here.",
        ),
    ]
}

fn pods() -> Vec<Value> {
    let container = &manager::deployment(NAMESPACE, Scope::Cluster, DEFAULT_OPERATOR_IMAGE)["spec"]
        ["template"]["spec"]["containers"][0];
    vec![
        Value::free(
            "resources",
            container["resources"].clone(),
            "What a pod of the operator may take.",
        ),
        Value::text(
            "priorityClassName",
            "",
            "The pods' priority; `system-cluster-critical` keeps webhooks up on full nodes.",
        ),
        Value::free("nodeSelector", json!({}), "On which nodes the pods run."),
        Value::free("tolerations", json!([]), "Which taints they tolerate."),
        Value::free("affinity", json!({}), "Near what they run."),
        Value::free("podLabels", json!({}), "More labels of the pods."),
        Value::free("podAnnotations", json!({}), "More annotations of the pods."),
        Value::free("arguments", json!([]), "More flags of `llsd run`."),
        Value::free("environment", json!([]), "More variables of the operator, as of a container."),
    ]
}

fn features() -> Vec<Value> {
    vec![
        Value::switch("networkPolicy", true, "A NetworkPolicy for the operator's pods."),
        Value::switch("disruptionBudget", true, "A PodDisruptionBudget for the operator's pods."),
        Value::switch(
            "metricsAuthentication",
            true,
            "Figures are only for those whose token may `get` the path `/metrics`. Without effect with `namespaced`.",
        ),
        Value::switch(
            "secretWatch",
            false,
            "See changed Secrets at once. Takes the right to list all Secrets.",
        ),
        Value::switch("storageMigration", false, "Write back what v0.9 stored as v1alpha1."),
        Value::free(
            "configuration",
            json!({}),
            "The operator's ConfigMap by key, as text or as YAML; empty: the operator makes it.",
        ),
    ]
}

fn monitoring() -> Vec<Value> {
    vec![
        Value::switch(
            "monitoring.podMonitor",
            false,
            "A PodMonitor. Takes the Prometheus Operator; its namespace needs the label `metrics: enabled`.",
        ),
        Value::switch("monitoring.alerts", false, "A PrometheusRule with alerts."),
        Value::switch(
            "monitoring.dashboard",
            false,
            "The dashboard, as a ConfigMap that Grafana's sidecar finds.",
        ),
        Value::free(
            "monitoring.labels",
            json!({}),
            "More labels of these, such as those by which a Prometheus selects.",
        ),
        Value::text(
            "monitoring.runbooks",
            RUNBOOKS,
            "Where the pages about alerts stand; a copy of docs/runbooks.",
        ),
    ]
}
