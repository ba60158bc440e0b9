//! The webhooks: the Service in front of them, and the registration of the validating ones. That of
//! conversion is part of the resource's definition.

use llsd_api::{GROUP, PLURAL};
use serde_json::{Value, json};

use crate::manager::metadata;
use crate::names::{
    CONFIG_MAP, CONFIGURATION_WEBHOOK_NAME, VALIDATE_CONFIGURATION_PATH, VALIDATE_PATH,
    VALIDATING_WEBHOOK, WEBHOOK_NAME, WEBHOOK_SERVICE, WEBHOOK_SERVICE_PORT, labels, selector,
};

/// In the operator's namespace.
pub(crate) fn all(namespace: &str) -> Vec<Value> {
    vec![service(namespace), validating_webhook(namespace)]
}

fn service(namespace: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(WEBHOOK_SERVICE, namespace),
        "spec": {
            "ports": [{"name": "webhooks", "port": WEBHOOK_SERVICE_PORT, "targetPort": "webhooks"}],
            "selector": selector(),
        },
    })
}

/// The admission policy is the guard of resources, and the operator uses no broken configuration: these
/// only explain better, and nothing is refused because they cannot be reached. Each version is judged as
/// it was written. The `caBundle` is absent because the operator writes it.
fn validating_webhook(namespace: &str) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": VALIDATING_WEBHOOK, "labels": labels()},
        "webhooks": [of_resources(namespace), of_the_configuration(namespace)],
    })
}

fn of_resources(namespace: &str) -> Value {
    json!({
        "name": WEBHOOK_NAME,
        "admissionReviewVersions": ["v1"],
        "clientConfig": client_config(namespace, VALIDATE_PATH),
        "failurePolicy": "Ignore",
        "matchPolicy": "Exact",
        "rules": [{
            "apiGroups": [GROUP],
            "apiVersions": ["v1alpha1", "v1alpha2"],
            "operations": ["CREATE", "UPDATE"],
            "resources": [PLURAL],
            "scope": "Namespaced",
        }],
        "sideEffects": "None",
        "timeoutSeconds": 10,
    })
}

/// Of all ConfigMaps of the cluster the API server sends one.
fn of_the_configuration(namespace: &str) -> Value {
    json!({
        "name": CONFIGURATION_WEBHOOK_NAME,
        "admissionReviewVersions": ["v1"],
        "clientConfig": client_config(namespace, VALIDATE_CONFIGURATION_PATH),
        "failurePolicy": "Ignore",
        "matchConditions": [{
            "name": "the-operators-own",
            "expression": format!("request.name == '{CONFIG_MAP}'"),
        }],
        "matchPolicy": "Exact",
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "rules": [{
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["CREATE", "UPDATE"],
            "resources": ["configmaps"],
            "scope": "Namespaced",
        }],
        "sideEffects": "None",
        "timeoutSeconds": 10,
    })
}

fn client_config(namespace: &str, path: &str) -> Value {
    json!({"service": {
        "namespace": namespace, "name": WEBHOOK_SERVICE, "path": path,
        "port": WEBHOOK_SERVICE_PORT,
    }})
}
