//! One server on one machine, which a client asks without a pause while the server and what runs it change.

use std::time::{Duration, Instant};

use llsd_install::names::{LEASE, NAMESPACE};
use llsd_node::product::Product;
use llsd_node::{MachineNumber, NodeOptions, Part};
use serde_json::{Value, json};

use crate::scene::{
    PATIENCE, TEAM, apply_until_ready, condition, installed, is_ready, kept, nothing_failed, pods,
    resource, until_replaced, url,
};

const NAME: &str = "asked";

#[tokio::test]
async fn no_request_is_lost_while_a_server_and_what_runs_it_change() {
    let Some(mut product) = installed(NodeOptions::default()).await else { return };
    let begun = Instant::now();
    set_key(&product, "first").await;
    let ready = apply_until_ready(&product, &with_key(&json!({}))).await;
    let answer = product.chat(url(&ready), "Who answers?").unwrap();
    assert!(answer.contains("Who answers?"), "{answer}");
    kept("A server runs under Pod Security `restricted` and answers a chat", begun, "");
    product.start_client(TEAM, url(&ready)).await.unwrap();

    a_change_passes_its_preflight_and_is_rolled_out(&product).await;
    a_change_that_fails_its_preflight_reaches_no_pod(&product).await;
    a_rotated_secret_reaches_the_pod(&product).await;
    the_leader_is_killed(&product).await;
    kubelet_and_containerd_are_killed(&mut product).await;
    product.node.stop().unwrap();
}

fn with_key(inference: &Value) -> Value {
    let mut whole = resource(NAME, json!({"providers": {"inference": inference}}));
    whole["spec"]["providers"]["inference"]["apiKey"] =
        json!({"secretKeyRef": {"name": "vllm", "key": "token"}});
    whole
}

async fn set_key(product: &Product, value: &str) {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "vllm"},
        "stringData": {"token": value},
    });
    product.apply(TEAM, &secret.to_string()).await.unwrap();
}

async fn a_change_passes_its_preflight_and_is_rolled_out(product: &Product) {
    let begun = Instant::now();
    let before = pods(product, NAME).await;
    let changed = with_key(&json!({"settings": {"max_tokens": 2048}}));
    let ready = apply_until_ready(product, &changed).await;
    assert_eq!(ready["status"]["preflight"]["verdict"], "Good", "{:#}", ready["status"]);
    until_replaced(product, NAME, &before).await;
    let asked = nothing_failed(product).await;
    let measured = format!("{asked} requests, none lost");
    kept("A change passes its preflight and is rolled out", begun, &measured);
}

async fn a_change_that_fails_its_preflight_reaches_no_pod(product: &Product) {
    let begun = Instant::now();
    let before = pods(product, NAME).await;
    let refused = with_key(&json!({"settings": {"max_tokens": "many"}}));
    product.apply(TEAM, &refused.to_string()).await.unwrap();
    let is_refused = |resource: &Value| condition(resource, "Preflight")["status"] == "False";
    let told = product.until(TEAM, NAME, PATIENCE, is_refused).await.unwrap();
    let told = condition(&told, "Preflight")["message"].to_string();
    assert!(told.contains("max_tokens"), "{told}");
    assert_eq!(pods(product, NAME).await, before);
    let asked = nothing_failed(product).await;
    kept(
        "A change fails its preflight and reaches no pod",
        begun,
        &format!("{asked} requests, none lost"),
    );
    apply_until_ready(product, &with_key(&json!({"settings": {"max_tokens": 2048}}))).await;
    assert_eq!(pods(product, NAME).await, before, "the pods have this spec already");
}

async fn a_rotated_secret_reaches_the_pod(product: &Product) {
    let before = pods(product, NAME).await;
    let begun = Instant::now();
    set_key(product, "second").await;
    while pods(product, NAME).await == before {
        assert!(begun.elapsed() < Duration::from_mins(2), "the value does not arrive");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let noticed = begun.elapsed().as_secs();
    let is_replaced =
        |resource: &Value| is_ready(resource) && resource["status"]["phase"] == "Ready";
    product.until(TEAM, NAME, PATIENCE, is_replaced).await.unwrap();
    until_replaced(product, NAME, &before).await;
    let asked = nothing_failed(product).await;
    let measured = format!("a new pod after {noticed} s; {asked} requests, none lost");
    kept("A rotated Secret reaches the pods", begun, &measured);
}

async fn the_leader_is_killed(product: &Product) {
    let begun = Instant::now();
    let leader = leader(product).await;
    let pod = leader.split('_').next().unwrap_or(&leader);
    let delete = ["delete", "pod", pod, "-n", NAMESPACE, "--grace-period=0", "--force"];
    product.kubectl(&delete).await.unwrap();
    while self::leader(product).await == leader {
        assert!(begun.elapsed() < Duration::from_mins(1), "{leader} still leads");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let led = begun.elapsed().as_secs();
    let before = pods(product, NAME).await;
    apply_until_ready(product, &with_key(&json!({"settings": {"max_tokens": 1024}}))).await;
    until_replaced(product, NAME, &before).await;
    let asked = nothing_failed(product).await;
    let measured =
        format!("another leads after {led} s and rolls out; {asked} requests, none lost");
    kept("The leading operator is killed", begun, &measured);
}

async fn leader(product: &Product) -> String {
    let holder = ["get", "lease", LEASE, "-n", NAMESPACE, "-o", "jsonpath={.spec.holderIdentity}"];
    product.kubectl(&holder).await.unwrap()
}

async fn kubelet_and_containerd_are_killed(product: &mut Product) {
    let begun = Instant::now();
    let before = pods(product, NAME).await;
    for part in [Part::Kubelet, Part::Containerd] {
        product.node.stop_part(MachineNumber::FIRST, part, "KILL").unwrap();
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    for part in [Part::Containerd, Part::Kubelet] {
        product.node.start_part(MachineNumber::FIRST, part).await.unwrap();
    }
    product.until(TEAM, NAME, PATIENCE, is_ready).await.unwrap();
    assert_eq!(pods(product, NAME).await, before);
    let asked = nothing_failed(product).await;
    let measured = format!("{asked} requests, none lost");
    kept("kubelet and containerd are killed and started again", begun, &measured);
}
