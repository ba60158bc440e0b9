//! Rollbacks, by the operator and by hand, and a rollout during which containerd does not run, under a client that asks
//! without a pause.

use std::time::{Duration, Instant};

use llsd_node::product::Product;
use llsd_node::{MachineNumber, NodeOptions, Part};
use serde_json::{Value, json};

use crate::scene::{
    PATIENCE, TEAM, apply_until_ready, condition, installed, is_ready, kept, nothing_failed, pods,
    resource, until_pods, until_replaced, url,
};

const NAME: &str = "changed";
/// How long containerd does not run: after half a minute the node is not ready, and Kubernetes removes all of its pods
/// from their Services.
const AWAY: Duration = Duration::from_secs(20);

#[tokio::test]
async fn no_request_is_lost_while_changes_are_rolled_back() {
    let Some(mut product) = installed(NodeOptions::default()).await else { return };
    let ready = apply_until_ready(&product, &with_tokens(256)).await;
    product.start_client(TEAM, url(&ready)).await.unwrap();
    nothing_failed(&product).await;
    // A pod template is good, and can be rolled back to, once its pods were available for a minute.
    tokio::time::sleep(Duration::from_secs(70)).await;

    a_change_that_fails_on_the_node_is_rolled_back(&product).await;
    a_change_is_rolled_back_by_hand(&product).await;
    a_rollout_continues_when_containerd_runs_again(&mut product).await;
    product.node.stop().unwrap();
}

/// A setting by which one state differs from another.
fn with_tokens(count: u32) -> Value {
    let settings = json!({"max_tokens": count});
    resource(NAME, json!({"providers": {"inference": {"settings": settings}}}))
}

/// Its configuration passes the preflight; its memory is too small, which only the kernel finds.
async fn a_change_that_fails_on_the_node_is_rolled_back(product: &Product) {
    let begun = Instant::now();
    let before = pods(product, NAME).await;
    let mut starved = with_tokens(512);
    let small = json!({"cpu": "100m", "memory": "100Mi"});
    starved["spec"]["workload"]["resources"] =
        json!({"requests": small, "limits": {"memory": "100Mi"}});
    starved["spec"]["workload"]["overrides"] = json!({"progressDeadlineSeconds": 60});
    product.apply(TEAM, &starved.to_string()).await.unwrap();

    let fails = |resource: &Value| condition(resource, "Ready")["reason"] == "ServerFailing";
    let failing = product.until(TEAM, NAME, PATIENCE, fails).await.unwrap();
    assert_eq!(failing["status"]["preflight"]["verdict"], "Good", "{:#}", failing["status"]);
    assert_eq!(condition(&failing, "Available")["status"], "True", "{:#}", failing["status"]);
    let told = condition(&failing, "Ready")["message"].to_string();
    assert!(told.contains("OOMKilled"), "{told}");

    let is_back = |resource: &Value| condition(resource, "RolledBack")["status"] == "True";
    let back = product.until(TEAM, NAME, PATIENCE, is_back).await.unwrap();
    let after = begun.elapsed().as_secs();
    let why = condition(&back, "RolledBack")["message"].to_string();
    assert!(why.contains("OOMKilled") && why.contains("timed out"), "{why}");
    println!("{why}");
    until_pods(product, NAME, |now| now == before).await;
    let asked = nothing_failed(product).await;
    let measured =
        format!("rolled back after {after} s with a deadline of 60 s; {asked} requests, none lost");
    kept("A change passes its preflight, fails on the node, and is rolled back", begun, &measured);
    apply_until_ready(product, &with_tokens(256)).await;
    assert_eq!(pods(product, NAME).await, before, "the pods have this spec already");
}

async fn a_change_is_rolled_back_by_hand(product: &Product) {
    let first = template(product).await;
    apply_until_ready(product, &with_tokens(1024)).await;
    let second = template(product).await;
    assert_ne!(first, second);
    let kept_states = product.llsd(&["history", NAME, "-n", TEAM]).unwrap();
    assert!(kept_states.contains(&first) && kept_states.contains(&second), "{kept_states}");

    let begun = Instant::now();
    product.llsd(&["rollback", NAME, "-n", TEAM]).unwrap();
    let is_back = |resource: &Value| {
        condition(resource, "RolledBack")["reason"] == "RollbackRequested"
            && condition(resource, "DeploymentReady")["status"] == "True"
    };
    product.until(TEAM, NAME, PATIENCE, is_back).await.unwrap();
    until_template(product, &first).await;
    let asked = nothing_failed(product).await;
    let measured = format!("{asked} requests, none lost");
    kept("`llsd rollback`: the previous state runs again", begun, &measured);

    let begun = Instant::now();
    product.llsd(&["rollout", "retry", NAME, "-n", TEAM]).unwrap();
    until_template(product, &second).await;
    product.until(TEAM, NAME, PATIENCE, is_ready).await.unwrap();
    let asked = nothing_failed(product).await;
    let measured = format!("{asked} requests, none lost");
    kept("`llsd rollout retry`: the resource is rolled out again", begun, &measured);
}

async fn a_rollout_continues_when_containerd_runs_again(product: &mut Product) {
    let begun = Instant::now();
    let before = pods(product, NAME).await;
    product.apply(TEAM, &with_tokens(2048).to_string()).await.unwrap();
    until_pods(product, NAME, |now| now.len() > before.len()).await;
    product.node.stop_part(MachineNumber::FIRST, Part::Containerd, "KILL").unwrap();
    tokio::time::sleep(AWAY).await;
    product.node.start_part(MachineNumber::FIRST, Part::Containerd).await.unwrap();
    product.until(TEAM, NAME, PATIENCE, is_ready).await.unwrap();
    until_replaced(product, NAME, &before).await;
    let asked = nothing_failed(product).await;
    let measured = format!("down for {} s; {asked} requests, none lost", AWAY.as_secs());
    kept("containerd does not run while a change is rolled out", begun, &measured);
}

/// The hash of the template that the server's one pod was made from, once there is one pod.
async fn template(product: &Product) -> String {
    until_pods(product, NAME, |now| now.len() == 1).await;
    let of_server = format!("app.kubernetes.io/instance={NAME}");
    let hash = r"jsonpath={.items[*].metadata.labels.pod-template-hash}";
    product.kubectl(&["get", "pods", "-n", TEAM, "-l", &of_server, "-o", hash]).await.unwrap()
}

async fn until_template(product: &Product, wanted: &str) {
    let begun = Instant::now();
    while template(product).await != wanted {
        assert!(begun.elapsed() < PATIENCE, "{wanted} does not run");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
