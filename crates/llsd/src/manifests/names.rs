//! The names of an installation. They are v0.9's, so that installing over it replaces it: the same
//! Deployment, the same roles, the same lease.

use serde_json::{Value, json};

/// Where the operator runs unless it is told otherwise.
pub const NAMESPACE: &str = "llama-stack-k8s-operator-system";
/// The Deployment and the ServiceAccount of the operator.
pub const OPERATOR: &str = "llama-stack-k8s-operator-controller-manager";
/// The lease that says which replica works.
pub const LEASE: &str = "54e06e98.llamastack.io";
/// The ConfigMap that the operator is configured with, in its own namespace.
pub const CONFIG_MAP: &str = "llama-stack-operator-config";
/// The Secret with the key of the hashes by which a changed value is noticed, in the operator's
/// own namespace.
pub const KEY_SECRET: &str = "llama-stack-operator-key";

/// The Secret with the certificates of the webhooks, in the operator's own namespace.
pub const WEBHOOK_SECRET: &str = "llama-stack-operator-webhook-certificates";
/// The definition of the resource.
pub const DEFINITION: &str = "llamastackdistributions.llamastack.io";
/// The configuration of the validating webhook, and the one webhook in it.
pub const VALIDATING_WEBHOOK: &str = "llama-stack-k8s-operator-validating-webhook";
pub const WEBHOOK_NAME: &str = "llamastackdistributions.llamastack.io";

/// The role for what the operator does to resources, and its binding.
pub(super) const ROLE: [&str; 2] =
    ["llama-stack-k8s-operator-manager-role", "llama-stack-k8s-operator-manager-rolebinding"];
/// The role for what the operator does for itself, and its binding.
pub(super) const OWN_ROLE: [&str; 2] = [
    "llama-stack-k8s-operator-leader-election-role",
    "llama-stack-k8s-operator-leader-election-rolebinding",
];
/// The role for the opt-in watch, and its binding.
pub(super) const SECRET_WATCH: [&str; 2] = [
    "llama-stack-k8s-operator-secret-watch-role",
    "llama-stack-k8s-operator-secret-watch-rolebinding",
];
/// The role for the storage migration, and its binding.
pub(super) const STORAGE_MIGRATION: [&str; 2] = [
    "llama-stack-k8s-operator-storage-migration-role",
    "llama-stack-k8s-operator-storage-migration-rolebinding",
];
/// The role for registering the webhooks, and its binding.
pub(super) const WEBHOOK_ROLE: [&str; 2] =
    ["llama-stack-k8s-operator-webhook-role", "llama-stack-k8s-operator-webhook-rolebinding"];
pub(super) const EDITOR: &str = "llama-stack-k8s-operator-llsd-editor-role";
pub(super) const VIEWER: &str = "llama-stack-k8s-operator-llsd-viewer-role";
pub(super) const METRICS_SERVICE: &str =
    "llama-stack-k8s-operator-controller-manager-metrics-service";
pub(super) const DISRUPTION_BUDGET: &str = "llama-stack-k8s-operator-controller-manager-pdb";
/// The Secret with certificates of the webhooks that somebody else makes.
pub(super) const FOREIGN_CERTIFICATES: &str = "llama-stack-k8s-operator-webhook-tls";
pub(super) const SECRET_POLICY: &str = "llama-stack-k8s-operator-secrets";

/// The name under which the API server knows an operator that runs in `namespace`.
pub fn user(namespace: &str) -> String {
    format!("system:serviceaccount:{namespace}:{OPERATOR}")
}

/// The label of every object of the installation.
pub(super) fn labels() -> Value {
    json!({"app.kubernetes.io/name": "llama-stack-k8s-operator"})
}

/// What the Deployment selects its pods by; a selector can never change.
pub(super) fn selector() -> Value {
    json!({
        "app.kubernetes.io/name": "llama-stack-k8s-operator",
        "control-plane": "controller-manager",
    })
}
