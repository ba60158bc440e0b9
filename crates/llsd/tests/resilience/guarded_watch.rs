//! One stored object that cannot be read as it should does not keep the operator from the others.

use http::Request;
use llsd_testkit::ControlPlane;
use serde_json::json;

use llsd_testbed::access::eventually;
use llsd_testbed::cluster::{NAMESPACE, create_when_served, resource};
use llsd_testbed::namespace::Namespace;
use llsd_testbed::test_operator::TestOperator;

async fn becomes_ready(operator: &TestOperator, name: &str) {
    let namespace = Namespace { cluster: &operator.cluster, name: NAMESPACE.to_owned() };
    namespace.distribution(name, json!({"distribution": {"name": "starter"}})).await;
    namespace.until_ready(name).await;
}

/// Asked with kubectl, as clients of ours may not read the object at all.
async fn is_told(operator: &TestOperator, name: &str, words: &str) {
    let path = "jsonpath={.status.conditions[?(@.type==\"ConfigGenerated\")].message}";
    eventually(&format!("the status says: {words}"), async || {
        let args = ["get", "llsd", name, "-n", NAMESPACE, "-o", path];
        operator.cluster.kubectl(&args, None).await.unwrap().stdout.contains(words)
    })
    .await;
}

#[tokio::test]
async fn one_malformed_object_does_not_stop_the_watch_of_the_others() {
    let builder = ControlPlane::builder().with_controller_manager();
    let Some(cluster) = builder.start_or_skip().await else { return };
    store_malformed(&cluster).await;
    let operator = TestOperator::within(cluster, &[]).await;
    becomes_ready(&operator, "good").await;
    is_told(&operator, "bad", "spec.networking.port").await;
}

/// Whoever may write resources could otherwise stop the work for everybody else: what reads JSON
/// gives up at some depth, and with it on the whole list or watch.
#[tokio::test]
async fn one_object_that_is_nested_too_deeply_does_not_stop_the_operator() {
    let Some(mut operator) = TestOperator::start(&[]).await else { return };
    becomes_ready(&operator, "before").await;
    store_deep(&operator.cluster, 5_000).await;
    becomes_ready(&operator, "watched").await;
    is_told(&operator, "deep", "spec: is nested more than 100 levels deep").await;

    operator.restart(&[]);
    becomes_ready(&operator, "listed").await;
}

/// An object that the real schema would refuse, stored while the CRD had none.
async fn store_malformed(cluster: &ControlPlane) {
    let mut crd = llsd_api::crd::manifest();
    crd["spec"]["versions"] = json!([{
        "name": "v1alpha2",
        "served": true,
        "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
    }]);
    let args = ["apply", "--server-side", "-f", "-"];
    cluster.kubectl(&args, Some(&crd.to_string())).await.unwrap().expect_success();
    let spec = json!({"distribution": {"name": "starter"}, "networking": {"port": "not a number"}});
    create_when_served(cluster, &resource("bad", &spec).to_string()).await;
}

/// JSON by hand, as no client of ours would nest so deeply.
async fn store_deep(cluster: &ControlPlane, depth: usize) {
    let provider = json!({"provider": "vllm", "config": {"x": "HERE"}});
    let spec = json!({"distribution": {"name": "starter"}, "providers": {"inference": provider}});
    let value = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    let object = resource("deep", &spec).to_string().replace("\"HERE\"", &value);
    let uri =
        format!("/apis/llamastack.io/v1alpha2/namespaces/{NAMESPACE}/llamastackdistributions");
    let request = Request::post(uri).header("Content-Type", "application/json");
    let answer = cluster.client().request_text(request.body(object.into_bytes()).unwrap()).await;
    answer.unwrap();
}
