//! One stored object that cannot be read as it should does not keep the operator from the others.

use http::Request;
use llsd::manifests::names;
use llsd_testkit::{ControlPlane, Kubelet, PodFate};
use serde_json::json;

use crate::cluster::{NAMESPACE, create_when_served, resource};
use crate::operator::access::eventually;
use crate::operator::bed::{Namespace, Operator};
use crate::operator::install::install;

/// An operator that is at work, with the odd object there before it.
struct Scene {
    operator: Operator,
    _kubelet: Kubelet,
    user: String,
    cluster: ControlPlane,
}

impl Scene {
    async fn set(cluster: ControlPlane) -> Self {
        let user = install(&cluster).await;
        let kubelet = cluster.kubelet(|_| PodFate::Ready).await.unwrap();
        let operator = Operator::start(&cluster, &user, names::NAMESPACE, &[]);
        Self { operator, _kubelet: kubelet, user, cluster }
    }

    async fn becomes_ready(&self, name: &str) {
        let namespace = Namespace { cluster: &self.cluster, name: NAMESPACE.to_owned() };
        namespace.distribution(name, json!({"distribution": {"name": "starter"}})).await;
        namespace.until_ready(name).await;
    }

    /// Asked with kubectl, as clients of ours may not read the object at all.
    async fn is_told(&self, name: &str, words: &str) {
        let path = "jsonpath={.status.conditions[?(@.type==\"ConfigGenerated\")].message}";
        eventually(&format!("the status says: {words}"), async || {
            let args = ["get", "llsd", name, "-n", NAMESPACE, "-o", path];
            self.cluster.kubectl(&args, None).await.unwrap().stdout.contains(words)
        })
        .await;
    }
}

async fn started(test: &str) -> Option<ControlPlane> {
    ControlPlane::builder().with_controller_manager().start_or_skip(test).await
}

#[tokio::test]
async fn one_malformed_object_does_not_stop_the_watch_of_the_others() {
    let test = "one_malformed_object_does_not_stop_the_watch_of_the_others";
    let Some(cluster) = started(test).await else { return };
    store_malformed(&cluster).await;
    let scene = Scene::set(cluster).await;
    scene.becomes_ready("good").await;
    scene.is_told("bad", "spec.networking.port").await;
}

/// Whoever may write resources could otherwise stop the work for everybody else: what reads JSON
/// gives up at some depth, and with it on the whole list or watch.
#[tokio::test]
async fn one_object_that_is_nested_too_deeply_does_not_stop_the_operator() {
    let test = "one_object_that_is_nested_too_deeply_does_not_stop_the_operator";
    let Some(cluster) = started(test).await else { return };
    let mut scene = Scene::set(cluster).await;
    scene.becomes_ready("before").await;
    store_deep(&scene.cluster, 5_000).await;
    scene.becomes_ready("watched").await;
    scene.is_told("deep", "spec: is nested more than 100 levels deep").await;

    scene.operator.kill();
    scene.operator = Operator::start(&scene.cluster, &scene.user, names::NAMESPACE, &[]);
    scene.becomes_ready("listed").await;
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
