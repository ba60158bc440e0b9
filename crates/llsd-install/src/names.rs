//! The names, paths and ports of an installation, as the install files and the operator know them.
//! Names are v0.9's, so that installing over it replaces it: the same Deployment, the same roles, the
//! same lease.

use std::collections::{BTreeMap, BTreeSet};

use llsd_plan::objects::labels::{OF_INSTALLATION, OPERATOR_PODS};
use serde_json::{Value, json};

/// Where the operator runs unless somebody says otherwise.
pub use llsd_api::crd::OPERATOR_NAMESPACE as NAMESPACE;
/// Of the webhooks: the Service in front of them with its port, and the path of conversion.
pub use llsd_api::crd::{CONVERT_PATH, WEBHOOK_SERVICE, WEBHOOK_SERVICE_PORT};

/// The oldest minor of Kubernetes that is tested; each newer one is supported, too.
pub const OLDEST_KUBERNETES: &str = "1.33";

/// The Deployment and the ServiceAccount of the operator.
pub const OPERATOR: &str = "llama-stack-k8s-operator-controller-manager";
/// The lease that says which replica works.
pub const LEASE: &str = "54e06e98.llamastack.io";
/// The ConfigMap that the operator is configured with, in its own namespace.
pub const CONFIG_MAP: &str = "llama-stack-operator-config";
/// The ConfigMap in which the operator keeps what of the other is in use, in its own namespace.
pub const KEPT_CONFIG_MAP: &str = "llama-stack-operator-last-config";
/// The Secret with the key of the hashes by which a changed value is noticed, in the operator's
/// own namespace.
pub const KEY_SECRET: &str = "llama-stack-operator-key";

/// The Secret with the public keys that images are signed with, in the operator's own namespace.
pub const IMAGE_KEYS_SECRET: &str = "llama-stack-operator-image-keys";
/// The Secret with the certificates of the webhooks, in the operator's own namespace.
pub const WEBHOOK_SECRET: &str = "llama-stack-operator-webhook-certificates";
/// The definition of the resource.
pub const DEFINITION: &str = "llamastackdistributions.llamastack.io";
/// The configuration of the validating webhooks, and the webhooks in it: of resources, and of the
/// operator's ConfigMap.
pub const VALIDATING_WEBHOOK: &str = "llama-stack-k8s-operator-validating-webhook";
pub const WEBHOOK_NAME: &str = "llamastackdistributions.llamastack.io";
pub const CONFIGURATION_WEBHOOK_NAME: &str = "configuration.llamastack.io";
/// The paths of admission.
pub const VALIDATE_PATH: &str = "/validate";
pub const VALIDATE_CONFIGURATION_PATH: &str = "/validate-configuration";
/// The owner of what the operator writes about its webhooks, and of nothing else: whoever applies the
/// install files again owns the rest, and neither takes the other's away.
pub const WEBHOOK_FIELD_MANAGER: &str = "llama-stack-operator-webhooks";

/// Where figures are served.
pub const METRICS_PATH: &str = "/metrics";
/// The flag by which they are only for those who may `get` that path.
pub const METRICS_AUTHENTICATION: &str = "--metrics-authentication";

/// The ports of the operator's pod.
pub const METRICS_PORT: u16 = 8080;
pub const HEALTH_PORT: u16 = 8081;
pub const WEBHOOK_PORT: u16 = 9443;

/// The role for what the operator does to resources, and its binding.
pub(crate) const ROLE: [&str; 2] =
    ["llama-stack-k8s-operator-manager-role", "llama-stack-k8s-operator-manager-rolebinding"];
/// The role for what the operator does for itself, and its binding.
pub(crate) const OWN_ROLE: [&str; 2] = [
    "llama-stack-k8s-operator-leader-election-role",
    "llama-stack-k8s-operator-leader-election-rolebinding",
];
/// The role for the opt-in watch, and its binding.
pub(crate) const SECRET_WATCH: [&str; 2] = [
    "llama-stack-k8s-operator-secret-watch-role",
    "llama-stack-k8s-operator-secret-watch-rolebinding",
];
/// The role for the storage migration, and its binding.
pub(crate) const STORAGE_MIGRATION: [&str; 2] = [
    "llama-stack-k8s-operator-storage-migration-role",
    "llama-stack-k8s-operator-storage-migration-rolebinding",
];
/// The role for registering the webhooks, and its binding.
pub(crate) const WEBHOOK_ROLE: [&str; 2] =
    ["llama-stack-k8s-operator-webhook-role", "llama-stack-k8s-operator-webhook-rolebinding"];
/// The role for asking the API server who reads figures, and its binding.
pub(crate) const METRICS_ROLE: [&str; 2] = [
    "llama-stack-k8s-operator-metrics-auth-role",
    "llama-stack-k8s-operator-metrics-auth-rolebinding",
];
/// The role of those who read figures; also an account that has it, its token and its binding.
pub const METRICS_READER: &str = "llama-stack-k8s-operator-metrics-reader";
pub(crate) const EDITOR: &str = "llama-stack-k8s-operator-llsd-editor-role";
pub(crate) const VIEWER: &str = "llama-stack-k8s-operator-llsd-viewer-role";
pub(crate) const METRICS_SERVICE: &str =
    "llama-stack-k8s-operator-controller-manager-metrics-service";
/// Who may connect to the operator.
pub(crate) const NETWORK_POLICY: &str = "llama-stack-k8s-operator-controller-manager";
pub(crate) const DISRUPTION_BUDGET: &str = "llama-stack-k8s-operator-controller-manager-pdb";
/// What has Prometheus watch the operator.
pub(crate) const MONITORING: &str = "llama-stack-k8s-operator";
/// The Secret with certificates of the webhooks, where cert-manager or OpenShift makes them.
pub(crate) const FOREIGN_CERTIFICATES: &str = "llama-stack-k8s-operator-webhook-tls";
/// The Secret with the authority that signs them, where cert-manager makes them.
pub(crate) const FOREIGN_AUTHORITY: &str = "llama-stack-k8s-operator-webhook-ca";
/// The Secret with certificates of the webhooks that OLM makes, which names it after the Deployment.
const OLM_CERTIFICATES: &str = "llama-stack-k8s-operator-controller-manager-service-cert";

/// The operator's own Secrets, in its own namespace; no resource may name one.
pub const OWN_SECRETS: [&str; 7] = [
    KEY_SECRET,
    IMAGE_KEYS_SECRET,
    WEBHOOK_SECRET,
    FOREIGN_CERTIFICATES,
    FOREIGN_AUTHORITY,
    OLM_CERTIFICATES,
    // The token of the account of the same name.
    METRICS_READER,
];
/// The accounts that are installed with the operator, in its own namespace; no resource may name one.
pub const OWN_ACCOUNTS: [&str; 2] = [OPERATOR, METRICS_READER];

/// The policies on what operators write: Secrets, and all other objects.
pub const SECRET_POLICY: &str = "operator-secrets.llamastack.io";
pub const OBJECT_POLICY: &str = "operator-objects.llamastack.io";

/// The name under which the API server knows an operator that runs in `namespace`.
pub fn user(namespace: &str) -> String {
    format!("system:serviceaccount:{namespace}:{OPERATOR}")
}

/// What the API server calls the webhooks by: their Service, and the host of an address, if there is
/// one.
pub fn webhook_hosts(namespace: &str, host: Option<&str>) -> BTreeSet<String> {
    let service = format!("{WEBHOOK_SERVICE}.{namespace}");
    [format!("{service}.svc"), service].into_iter().chain(host.map(str::to_owned)).collect()
}

/// The label of every object of the installation.
pub fn labels() -> Value {
    json!(BTreeMap::from([OF_INSTALLATION]))
}

/// What the Deployment selects its pods by; a selector can never change. NetworkPolicies of servers know the
/// operator by it.
pub(crate) fn selector() -> Value {
    json!(BTreeMap::from(OPERATOR_PODS))
}
