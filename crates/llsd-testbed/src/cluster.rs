//! A cluster with the committed install files, which control-plane tests share.

use std::time::Duration;

use http::Request;
use kube::Client;
use kube::core::Status;
use llsd_cases::files::repository;
use llsd_testkit::{ControlPlane, SharedControlPlane};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

/// The namespace of all test resources.
pub const NAMESPACE: &str = "default";

/// One control plane for all tests of a program; starting one takes seconds.
static CLUSTER: SharedControlPlane = SharedControlPlane::new(ControlPlane::builder);
static INSTALLED: OnceCell<()> = OnceCell::const_new();

/// A cluster with the CRD and the admission policy, both at work. Other tests use it too.
pub async fn installed() -> Option<&'static ControlPlane> {
    let cluster = CLUSTER.get_or_skip().await?;
    INSTALLED.get_or_init(|| install(cluster)).await;
    Some(cluster)
}

/// Applies the committed install files and waits until they are at work.
pub async fn install(cluster: &ControlPlane) {
    for file in ["deploy/crd.yaml", "deploy/policy.yaml", "deploy/operator-policy.yaml"] {
        let path = repository(file);
        let args = ["apply", "--server-side", "-f", path.to_str().unwrap()];
        cluster.kubectl(&args, None).await.unwrap().expect_success();
    }
    wait_for_policy(&cluster.client()).await;
}

/// The API server compiles a policy some time after it was created; until then everything passes.
async fn wait_for_policy(client: &Client) {
    let against_the_policy = resource(
        "probe",
        &json!({
            "distribution": {"name": "starter"},
            "resources": {"models": [null]},
        }),
    );
    for _ in 0..200 {
        if let Err(refusal) = dry_run(client, &against_the_policy).await
            && refusal.message.contains("denied request")
        {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the admission policy did not come to work within 20 s");
}

/// A v1alpha2 resource with this spec.
pub fn resource(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "llamastack.io/v1alpha2",
        "kind": "LlamaStackDistribution",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    })
}

/// What the API server says of creating the resource, under strict field validation.
pub async fn dry_run(client: &Client, resource: &Value) -> Result<Value, Box<Status>> {
    let uri = format!(
        "/apis/llamastack.io/v1alpha2/namespaces/{NAMESPACE}/llamastackdistributions\
         ?dryRun=All&fieldValidation=Strict"
    );
    let request = Request::post(uri)
        .header("Content-Type", "application/json")
        .body(serde_json::to_vec(resource).unwrap())
        .unwrap();
    match client.request::<Value>(request).await {
        Ok(created) => Ok(created),
        Err(kube::Error::Api(status)) => Err(status),
        Err(other) => panic!("the API server did not answer: {other}"),
    }
}

/// Creates an object, waiting for its kind to be served.
pub async fn create_when_served(cluster: &ControlPlane, object: &str) {
    let mut last = None;
    for _ in 0..100 {
        let created = cluster.kubectl(&["create", "-f", "-"], Some(object)).await.unwrap();
        if created.success() {
            return;
        }
        last = Some(created);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    panic!("not created within 20 s: {last:?}");
}
