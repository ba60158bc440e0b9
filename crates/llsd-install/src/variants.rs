//! Installs in which somebody else makes the certificates of the webhooks: cert-manager, or the
//! service CA of OpenShift. Each is a component for kustomize that changes the install for the
//! whole cluster, and takes away the operator's right to register its own.

use serde_json::{Value, json};

use crate::file::{File, yaml};
use crate::names::{
    DEFINITION, FOREIGN_AUTHORITY, FOREIGN_CERTIFICATES, OPERATOR, VALIDATING_WEBHOOK,
    WEBHOOK_ROLE, WEBHOOK_SERVICE, labels, webhook_hosts,
};

const FOLDER: &str = "/var/run/webhook-certificates";
const CERTIFICATE: &str = "llama-stack-k8s-operator-webhook";

/// The annotation by which cert-manager fills in a `caBundle`; its value is a [`certificate`].
pub(crate) const CERT_MANAGER_INJECTION: &str = "cert-manager.io/inject-ca-from";
/// The one by which the service CA does, and its value.
pub(crate) const OPENSHIFT_INJECTION: [&str; 2] =
    ["service.beta.openshift.io/inject-cabundle", "true"];
/// The one by which the service CA makes the certificate of a Service, and the Secret's name.
pub(crate) const OPENSHIFT_SERVING: [&str; 2] =
    ["service.beta.openshift.io/serving-cert-secret-name", FOREIGN_CERTIFICATES];

/// The certificate as others name it.
pub(crate) fn certificate(namespace: &str) -> String {
    format!("{namespace}/{CERTIFICATE}")
}

/// The flag that names the folder with the certificates.
pub(crate) fn flag() -> String {
    format!("--webhook-cert-dir={FOLDER}")
}

/// The certificates as a volume, and where it is mounted.
pub(crate) fn mounted() -> [Value; 2] {
    let name = "webhook-certificates";
    [
        json!({"name": name, "secret": {"secretName": FOREIGN_CERTIFICATES}}),
        json!({"name": name, "mountPath": FOLDER, "readOnly": true}),
    ]
}

pub(crate) fn files(namespace: &str) -> Vec<File> {
    vec![
        File::new(
            "cert-manager/kustomization.yaml",
            "A component: webhook certificates of cert-manager.",
            vec![cert_manager(namespace)],
        ),
        File::new(
            "cert-manager/certificate.yaml",
            "The webhooks' certificate, and the authority that signs it.",
            issued(namespace),
        ),
        File::new(
            "openshift/kustomization.yaml",
            "A component: webhook certificates of OpenShift's service CA.",
            vec![openshift()],
        ),
    ]
}

fn cert_manager(namespace: &str) -> Value {
    let inject = (CERT_MANAGER_INJECTION, certificate(namespace));
    let patches = vec![
        annotated("CustomResourceDefinition", DEFINITION, &inject),
        annotated("ValidatingWebhookConfiguration", VALIDATING_WEBHOOK, &inject),
    ];
    component(&["certificate.yaml"], patches)
}

fn openshift() -> Value {
    let [inject, serve] =
        [OPENSHIFT_INJECTION, OPENSHIFT_SERVING].map(|[name, value]| (name, value.to_owned()));
    let patches = vec![
        annotated("CustomResourceDefinition", DEFINITION, &inject),
        annotated("ValidatingWebhookConfiguration", VALIDATING_WEBHOOK, &inject),
        annotated("Service", WEBHOOK_SERVICE, &serve),
    ];
    component(&[], patches)
}

fn component(resources: &[&str], mut patches: Vec<Value>) -> Value {
    patches.push(with_files());
    let [role, binding] = WEBHOOK_ROLE;
    patches.push(without("ClusterRole", role));
    patches.push(without("ClusterRoleBinding", binding));
    let mut component = json!({
        "apiVersion": "kustomize.config.k8s.io/v1alpha1",
        "kind": "Component",
        "patches": patches,
    });
    if !resources.is_empty() {
        component["resources"] = json!(resources);
    }
    component
}

fn annotated(kind: &str, name: &str, (annotation, value): &(&str, String)) -> Value {
    let patch = json!([{
        "op": "add", "path": "/metadata/annotations", "value": {*annotation: value},
    }]);
    patched(kind, name, &patch)
}

/// The certificates as files, and the flag that names them.
fn with_files() -> Value {
    let container = "/spec/template/spec/containers/0";
    let [volume, mount] = mounted();
    let patch = json!([
        {"op": "add", "path": format!("{container}/args/-"), "value": flag()},
        {"op": "add", "path": format!("{container}/volumeMounts"), "value": [mount]},
        {"op": "add", "path": "/spec/template/spec/volumes", "value": [volume]},
    ]);
    patched("Deployment", OPERATOR, &patch)
}

fn without(kind: &str, name: &str) -> Value {
    let patch = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind,
        "metadata": {"name": name}, "$patch": "delete",
    });
    patched(kind, name, &patch)
}

fn patched(kind: &str, name: &str, patch: &Value) -> Value {
    json!({"target": {"kind": kind, "name": name}, "patch": yaml(patch)})
}

/// An authority of its own, because a certificate that signs itself cannot be renewed while the old
/// one is still served: the bundle would hold one of the two.
pub(crate) fn issued(namespace: &str) -> Vec<Value> {
    let api = "cert-manager.io/v1";
    let metadata = |name: &str| json!({"name": name, "namespace": namespace, "labels": labels()});
    let issuer = |name: &str| json!({"kind": "Issuer", "name": name});
    let own = format!("{CERTIFICATE}-selfsigned");
    vec![
        json!({"apiVersion": api, "kind": "Issuer", "metadata": metadata(&own),
               "spec": {"selfSigned": {}}}),
        json!({
            "apiVersion": api,
            "kind": "Certificate",
            "metadata": metadata(FOREIGN_AUTHORITY),
            "spec": {
                "isCA": true,
                "commonName": FOREIGN_AUTHORITY,
                "secretName": FOREIGN_AUTHORITY,
                // Renewing it is the one moment in which calls may fail.
                "duration": "87600h",
                "privateKey": {"algorithm": "ECDSA", "size": 256},
                "issuerRef": issuer(&own),
            },
        }),
        json!({"apiVersion": api, "kind": "Issuer", "metadata": metadata(CERTIFICATE),
               "spec": {"ca": {"secretName": FOREIGN_AUTHORITY}}}),
        json!({
            "apiVersion": api,
            "kind": "Certificate",
            "metadata": metadata(CERTIFICATE),
            "spec": {
                "secretName": FOREIGN_CERTIFICATES,
                "dnsNames": webhook_hosts(namespace, None),
                "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"},
                "issuerRef": issuer(CERTIFICATE),
            },
        }),
    ]
}
