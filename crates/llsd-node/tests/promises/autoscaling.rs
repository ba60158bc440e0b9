//! Servers whose number of pods others decide: a HorizontalPodAutoscaler by the CPU that they use, and KEDA by what
//! waits for them, to none and back.

use std::time::{Duration, Instant};

use llsd_node::NodeOptions;
use llsd_node::product::Product;
use serde_json::{Value, json};

use crate::scene::{
    PATIENCE, TEAM, apply_until_ready, condition, installed, is_ready, kept, nothing_failed, pods,
    resource, url,
};

/// The server that a HorizontalPodAutoscaler scales.
const MEASURED: &str = "measured";
/// A server that KEDA scales by its resource, and one that it scales by its Deployment.
const WOKEN: &str = "woken";
const BELOW: &str = "below";

#[tokio::test]
async fn a_server_follows_its_load() {
    let Some(product) = installed(options()).await else { return };
    product.install_metrics_server().await.unwrap();
    let ready = apply_until_ready(&product, &measured(600)).await;
    pods_come_with_the_load(&product, url(&ready)).await;
    a_write_leaves_their_number(&product).await;
    pods_go_with_the_load(&product, url(&ready)).await;
    product.node.stop().unwrap();
}

#[tokio::test]
async fn servers_sleep_until_they_are_needed() {
    let Some(product) = installed(options()).await else { return };
    product.install_keda().await.unwrap();
    apply_until_ready(&product, &resource(WOKEN, json!({"workload": {"replicas": 1}}))).await;
    apply_until_ready(&product, &below(600)).await;
    product.keda_answers().await.unwrap();
    servers_that_nobody_needs_sleep(&product).await;
    a_write_wakes_nobody(&product).await;
    servers_wake_for_a_visitor(&product).await;
    another_pod_comes_for_another_visitor(&product).await;
    product.node.stop().unwrap();
}

fn options() -> NodeOptions {
    NodeOptions::default().controller_manager_flag("--horizontal-pod-autoscaler-sync-period=5s")
}

/// Scaled by its CPU. Another deadline is written into its Deployment, and replaces no pod.
fn measured(deadline: u32) -> Value {
    let workload = json!({
        "resources": {"requests": {"cpu": "250m"}},
        "autoscaling": {
            "minReplicas": 1,
            "maxReplicas": 2,
            "targetCPUUtilization": 80,
            "behavior": {"scaleDown": {"stabilizationWindowSeconds": 10}},
        },
        "overrides": {"progressDeadlineSeconds": deadline},
    });
    resource(MEASURED, json!({"workload": workload}))
}

/// Its resource does not set the number of pods, so an autoscaler may scale the Deployment itself.
fn below(deadline: u32) -> Value {
    let overrides = json!({"progressDeadlineSeconds": deadline});
    resource(BELOW, json!({"workload": {"overrides": overrides}}))
}

async fn pods_come_with_the_load(product: &Product, url: &str) {
    let begun = Instant::now();
    product.start_askers(TEAM, url, 6).await.unwrap();
    product.until(TEAM, MEASURED, PATIENCE, runs(2)).await.unwrap();
    assert_eq!(scalings(product, MEASURED).await, ["0 to 1 once", "1 to 2 once"]);
    let why = ["get", "events", "-n", TEAM, "--field-selector=reason=SuccessfulRescale"];
    let message = ["-o", "jsonpath={.items[*].message}"];
    let why = product.kubectl(&[&why[..], &message].concat()).await.unwrap();
    assert!(why.starts_with("New size: 2; reason: cpu resource utilization"), "{why}");
    let asked = nothing_failed(product).await;
    let measured = format!("{asked} requests, none lost");
    kept("Pods come with the CPU that they use, as metrics-server tells it", begun, &measured);
}

async fn a_write_leaves_their_number(product: &Product) {
    let begun = Instant::now();
    let before = pods(product, MEASURED).await;
    apply_until_ready(product, &measured(500)).await;
    let spec = deployment(product, MEASURED).await["spec"].clone();
    assert_eq!(spec["progressDeadlineSeconds"], 500);
    assert_eq!(spec["replicas"], 2);
    assert_eq!(scalings(product, MEASURED).await, ["0 to 1 once", "1 to 2 once"]);
    assert_eq!(pods(product, MEASURED).await, before);
    let asked = nothing_failed(product).await;
    let measured = format!("{asked} requests, none lost");
    kept("The operator leaves the number to the autoscaler", begun, &measured);
}

async fn pods_go_with_the_load(product: &Product, url: &str) {
    product.stop_client(TEAM).await.unwrap();
    let begun = Instant::now();
    product.start_askers(TEAM, url, 1).await.unwrap();
    product.until(TEAM, MEASURED, PATIENCE, runs(1)).await.unwrap();
    assert_eq!(scalings(product, MEASURED).await, ["0 to 1 once", "1 to 2 once", "2 to 1 once"]);
    while pods(product, MEASURED).await.len() > 1 {
        assert!(begun.elapsed() < PATIENCE, "the pod that is too much does not end");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let asked = nothing_failed(product).await;
    kept("Pods go with the load", begun, &format!("{asked} requests, none lost"));
}

async fn servers_that_nobody_needs_sleep(product: &Product) {
    let begun = Instant::now();
    let by_resource = json!({
        "apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution", "name": WOKEN,
    });
    product.scale_by_visitors(TEAM, &by_resource, 2).await.unwrap();
    product.scale_by_visitors(TEAM, &json!({"name": BELOW}), 1).await.unwrap();
    for name in [WOKEN, BELOW] {
        let asleep = product.until(TEAM, name, PATIENCE, sleeps).await.unwrap();
        assert_eq!(asleep["status"]["phase"], "Ready", "{:#}", asleep["status"]);
    }
    let woken = product.resource(TEAM, WOKEN).await.unwrap();
    assert_eq!(woken["spec"]["workload"]["replicas"], 0);
    kept("KEDA scales servers to zero, one by its resource, one by its Deployment", begun, "");
}

async fn a_write_wakes_nobody(product: &Product) {
    let begun = Instant::now();
    product.apply(TEAM, &below(500).to_string()).await.unwrap();
    let asleep = product.until(TEAM, BELOW, PATIENCE, sleeps).await.unwrap();
    assert_eq!(asleep["status"]["phase"], "Ready", "{:#}", asleep["status"]);
    let spec = deployment(product, BELOW).await["spec"].clone();
    assert_eq!(spec["progressDeadlineSeconds"], 500);
    assert_eq!(scalings(product, BELOW).await, ["0 to 1 once", "1 to 0 once"]);
    kept("The operator wakes no server that KEDA scaled to zero", begun, "");
}

async fn servers_wake_for_a_visitor(product: &Product) {
    let begun = Instant::now();
    product.visitors(TEAM, 1).await.unwrap();
    for name in [WOKEN, BELOW] {
        let awake = product.until(TEAM, name, PATIENCE, runs(1)).await.unwrap();
        assert_eq!(condition(&awake, "Available")["reason"], "ReplicasAvailable");
        let answer = product.chat(url(&awake), "Who woke you?").unwrap();
        assert!(answer.contains("Who woke you?"), "{answer}");
    }
    kept("Servers wake, and answer the first request", begun, "");
}

async fn another_pod_comes_for_another_visitor(product: &Product) {
    let begun = Instant::now();
    product.visitors(TEAM, 2).await.unwrap();
    product.until(TEAM, WOKEN, PATIENCE, runs(2)).await.unwrap();
    kept("KEDA's autoscaler finds the pods of a resource by its selector", begun, "");
    let begun = Instant::now();
    product.visitors(TEAM, 0).await.unwrap();
    for name in [WOKEN, BELOW] {
        product.until(TEAM, name, PATIENCE, sleeps).await.unwrap();
    }
    assert_eq!(scalings(product, BELOW).await, ["0 to 1 2 times", "1 to 0 2 times"]);
    kept("Servers sleep again", begun, "");
}

/// Whether the server is as the resource says, with this many pods.
fn runs(pods: u32) -> impl FnMut(&Value) -> bool {
    move |resource| {
        let status = &resource["status"];
        is_ready(resource) && status["replicas"] == pods && status["availableReplicas"] == pods
    }
}

fn sleeps(resource: &Value) -> bool {
    is_ready(resource) && condition(resource, "Available")["reason"] == "ScaledToZero"
}

async fn deployment(product: &Product, name: &str) -> Value {
    let get = ["get", "deployment", name, "-n", TEAM, "-o", "json"];
    serde_json::from_str(&product.kubectl(&get).await.unwrap()).unwrap()
}

/// Every change of the number of a server's pods, and how often it was made, as the Deployment's controller told it.
async fn scalings(product: &Product, name: &str) -> Vec<String> {
    let reason = "reason=ScalingReplicaSet,involvedObject.kind=Deployment";
    let of = format!("--field-selector={reason},involvedObject.name={name}");
    let list = ["get", "events", "-n", TEAM, &of, "--sort-by=.metadata.creationTimestamp"];
    let told = product.kubectl(&[&list[..], &["-o", "json"]].concat()).await.unwrap();
    let told: Value = serde_json::from_str(&told).unwrap();
    let change = |event: &Value| {
        let (_, numbers) = event["message"].as_str()?.rsplit_once(" from ")?;
        Some(match event["count"].as_u64() {
            Some(1) => format!("{numbers} once"),
            count => format!("{numbers} {} times", count.unwrap_or_default()),
        })
    };
    told["items"].as_array().unwrap().iter().filter_map(change).collect()
}
