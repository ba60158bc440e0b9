//! The operator's own Deployment and what stands around it. It meets the `restricted` Pod Security
//! Standard and names no user id, because OpenShift picks one; the image names its own.

use serde_json::{Value, json};

use crate::names::{
    DISRUPTION_BUDGET, HEALTH_PORT, METRICS_AUTHENTICATION, METRICS_PORT, METRICS_SERVICE,
    OPERATOR, WEBHOOK_PORT, selector,
};
use crate::roles::Scope;

const REPLICAS: u32 = 2;

/// The namespace of the operator, in which only pods that are `restricted` start.
pub(crate) fn namespace(name: &str) -> Value {
    let mut labels = selector();
    for mode in ["enforce", "warn"] {
        labels[format!("pod-security.kubernetes.io/{mode}")] = json!("restricted");
    }
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": labels},
    })
}

/// `image` is the operator's own.
pub(crate) fn all(namespace: &str, scope: Scope, image: &str) -> Vec<Value> {
    let deployment = deployment(namespace, scope, image);
    vec![deployment, disruption_budget(namespace), metrics_service(namespace)]
}

pub(crate) fn deployment(namespace: &str, scope: Scope, image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(OPERATOR, namespace),
        "spec": {
            "replicas": REPLICAS,
            "selector": {"matchLabels": selector()},
            "template": {
                "metadata": {
                    "annotations": {"kubectl.kubernetes.io/default-container": "manager"},
                    "labels": selector(),
                },
                "spec": {
                    "serviceAccountName": OPERATOR,
                    "securityContext": {
                        "runAsNonRoot": true,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "containers": [container(scope, image)],
                    "terminationGracePeriodSeconds": 30,
                    "topologySpreadConstraints": [
                        spread("topology.kubernetes.io/zone"),
                        spread("kubernetes.io/hostname"),
                    ],
                },
            },
        },
    })
}

fn container(scope: Scope, image: &str) -> Value {
    let mut container = json!({
        "name": "manager",
        "image": image,
        // The image starts it by itself, but v0.9's Deployment names another program here.
        "command": ["llsd"],
        "args": arguments(scope),
        "env": environment(scope, image),
        "ports": ports(scope),
        "livenessProbe": {
            "httpGet": {"path": "/healthz", "port": "health"},
            "periodSeconds": 20,
        },
        "readinessProbe": {
            "httpGet": {"path": "/readyz", "port": "health"},
            "periodSeconds": 5,
        },
        "resources": {
            "requests": {"cpu": "10m", "memory": "32Mi"},
            "limits": {"memory": "256Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": true,
        },
    });
    if scope == Scope::Cluster {
        // Calls go on coming until every node knows that this replica ends. The image has no
        // program that sleeps, and needs none.
        container["lifecycle"] = json!({"preStop": {"sleep": {"seconds": 5}}});
    }
    container
}

/// Only with rights of the cluster can the operator ask who reads its figures.
fn arguments(scope: Scope) -> Vec<&'static str> {
    let mut arguments = vec!["run", "--leader-elect"];
    arguments.extend((scope == Scope::Cluster).then_some(METRICS_AUTHENTICATION));
    arguments
}

fn ports(scope: Scope) -> Vec<Value> {
    let mut ports = vec![
        json!({"name": "metrics", "containerPort": METRICS_PORT}),
        json!({"name": "health", "containerPort": HEALTH_PORT}),
    ];
    if scope == Scope::Cluster {
        ports.push(json!({"name": "webhooks", "containerPort": WEBHOOK_PORT}));
    }
    ports
}

fn environment(scope: Scope, image: &str) -> Vec<Value> {
    let mut variables = vec![
        of_the_pod("POD_NAME", "metadata.name"),
        of_the_pod("OPERATOR_NAMESPACE", "metadata.namespace"),
        json!({"name": "OPERATOR_IMAGE", "value": image}),
    ];
    if scope == Scope::Namespace {
        variables.push(of_the_pod("WATCH_NAMESPACE", "metadata.namespace"));
    }
    variables
}

fn of_the_pod(name: &str, field: &str) -> Value {
    json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": field}}})
}

/// One replica each, as far as there are places. Those of the revision before do not count.
fn spread(topology: &str) -> Value {
    json!({
        "maxSkew": 1,
        "topologyKey": topology,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": selector()},
        "matchLabelKeys": ["pod-template-hash"],
    })
}

fn disruption_budget(namespace: &str) -> Value {
    json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(DISRUPTION_BUDGET, namespace),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": selector()}},
    })
}

fn metrics_service(namespace: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(METRICS_SERVICE, namespace),
        "spec": {
            "ports": [{"name": "metrics", "port": METRICS_PORT, "targetPort": "metrics"}],
            "selector": selector(),
        },
    })
}

pub(crate) fn metadata(name: &str, namespace: &str) -> Value {
    json!({"name": name, "namespace": namespace, "labels": selector()})
}
