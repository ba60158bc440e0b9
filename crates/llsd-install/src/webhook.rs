//! The webhooks: the Service in front of them, and the registration of the validating one. That of
//! conversion is part of the resource's definition.

use llsd_api::{GROUP, PLURAL};
use serde_json::{Value, json};

use crate::manager::metadata;
use crate::names::{
    VALIDATE_PATH, VALIDATING_WEBHOOK, WEBHOOK_NAME, WEBHOOK_SERVICE, WEBHOOK_SERVICE_PORT, labels,
    selector,
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

/// The admission policy is the guard, and this one only explains better: nothing is refused because
/// it cannot be reached. Each version is judged as it was written. The `caBundle` is absent because
/// the operator writes it.
fn validating_webhook(namespace: &str) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": VALIDATING_WEBHOOK, "labels": labels()},
        "webhooks": [{
            "name": WEBHOOK_NAME,
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"service": {
                "namespace": namespace, "name": WEBHOOK_SERVICE, "path": VALIDATE_PATH,
                "port": WEBHOOK_SERVICE_PORT,
            }},
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
        }],
    })
}
