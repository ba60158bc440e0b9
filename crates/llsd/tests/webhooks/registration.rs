//! Tells a real API server where the webhooks are, as `--webhook-url` does, and waits until it has
//! taken notice.

use std::net::SocketAddr;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use llsd_testkit::ControlPlane;
use serde_json::{Value, json};

use crate::server::Identity;
use crate::versioned::Versioned;
use llsd_cases::files::repository;
use llsd_testbed::access::eventually;

/// Installs the CRD with its conversion at this address, and waits until v1alpha1 is served.
pub async fn install_conversion(cluster: &ControlPlane, address: SocketAddr, identity: &Identity) {
    let text = std::fs::read_to_string(repository("deploy/crd.yaml")).unwrap();
    let mut crd: Value = serde_saphyr::from_str(&text).unwrap();
    crd["spec"]["conversion"]["webhook"]["clientConfig"] =
        client_config(address, "convert", identity);
    apply(cluster, &crd).await;
    let objects = Versioned::new(cluster.client(), "default");
    eventually("v1alpha1 is served", async || {
        objects.list("v1alpha1").await.is_ok() && objects.list("v1alpha2").await.is_ok()
    })
    .await;
}

/// Registers admission, and waits until it is asked.
pub async fn register_admission(cluster: &ControlPlane, address: SocketAddr, identity: &Identity) {
    let rule = json!({
        "apiGroups": ["llamastack.io"], "apiVersions": ["v1alpha1", "v1alpha2"],
        "operations": ["CREATE", "UPDATE"], "resources": ["llamastackdistributions"],
    });
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "llama-stack"},
        "webhooks": [{
            "name": "validate.llamastack.io", "admissionReviewVersions": ["v1"],
            "sideEffects": "None", "failurePolicy": "Ignore", "timeoutSeconds": 10,
            "clientConfig": client_config(address, "validate", identity),
            "rules": [rule],
        }],
    });
    apply(cluster, &configuration).await;
    let probe = json!({
        "apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
        "metadata": {"name": "probe"}, "spec": {"distribution": {"name": "no-such"}},
    });
    let args = ["create", "--dry-run=server", "-f", "-"];
    eventually("admission is asked", async || {
        let asked = cluster.kubectl(&args, Some(&probe.to_string())).await.unwrap();
        asked.stderr.contains("no distribution `no-such`")
    })
    .await;
}

fn client_config(address: SocketAddr, path: &str, identity: &Identity) -> Value {
    json!({
        "url": format!("https://{address}/{path}"),
        "caBundle": BASE64_STANDARD.encode(&identity.authority),
    })
}

pub async fn apply(cluster: &ControlPlane, object: &Value) {
    let args = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
    cluster.kubectl(&args, Some(&object.to_string())).await.unwrap().expect_success();
}
