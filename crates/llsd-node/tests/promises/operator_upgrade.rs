//! The operator is upgraded from an older build of it, and rolled back to that, under servers that a client asks without
//! a pause.

use std::time::{Duration, Instant};

use llsd_install::names::NAMESPACE;
use llsd_node::NodeOptions;
use llsd_node::product::{OlderOperator, Product};
use serde_json::{Value, json};

use crate::scene::{
    PATIENCE, TEAM, apply_until_ready, bare, condition, is_ready, kept, nothing_failed, resource,
    team, url, v1alpha1, write_config,
};

const NAME: &str = "upgraded";
/// Of v1alpha1, so that conversion is needed all the time.
const OLD: &str = "older";

#[tokio::test]
async fn an_upgrade_of_the_operator_restarts_no_server_and_loses_no_request() {
    let Some(product) = bare(NodeOptions::default()).await else { return };
    let older = OlderOperator::push(&product.node).await.unwrap();
    let older = older.manifests().unwrap();
    product.apply(NAMESPACE, &older).await.unwrap();
    product.configure(NAMESPACE).await.unwrap();
    team(&product, TEAM).await;
    let ready = apply_until_ready(&product, &resource(NAME, json!({}))).await;
    write_config(&product, TEAM).await;
    apply_until_ready(&product, &v1alpha1(OLD, json!({}))).await;
    product.start_client(TEAM, url(&ready)).await.unwrap();
    let before = running(&product).await;

    let begun = Instant::now();
    product.install().await.unwrap();
    let rolled_out = begun.elapsed().as_secs();
    for name in [NAME, OLD] {
        product.until(TEAM, name, PATIENCE, waits).await.unwrap();
    }
    assert_eq!(running(&product).await, before);
    let asked = nothing_failed(&product).await;
    let measured = format!("rolled out after {rolled_out} s; {asked} requests, none lost");
    kept("The operator is upgraded: no server restarts", begun, &measured);

    back_to_the_older(&product, &older).await;
    assert_eq!(running(&product).await, before);
    product.install().await.unwrap();
    what_waits_is_approved(&product, &before).await;
    product.node.stop().unwrap();
}

/// The servers' pods with their restarts.
async fn running(product: &Product) -> Vec<Value> {
    let of_servers = ["get", "pods", "-n", TEAM, "-l", "app=llama-stack", "-o", "json"];
    let pods: Value = serde_json::from_str(&product.kubectl(&of_servers).await.unwrap()).unwrap();
    let pods = pods["items"].as_array().unwrap().iter();
    let with_restarts = |pod: &Value| {
        let restarts = &pod["status"]["containerStatuses"][0]["restartCount"];
        json!([pod["metadata"]["name"], pod["metadata"]["uid"], restarts])
    };
    pods.map(with_restarts).collect()
}

/// The newer operator has seen it, and would change its pods.
fn waits(resource: &Value) -> bool {
    is_ready(resource) && condition(resource, "UpdatePending")["reason"] == "TemplateKept"
}

/// docs/install.md: back to an earlier version is the same with its files.
async fn back_to_the_older(product: &Product, older: &str) {
    let begun = Instant::now();
    product.apply(NAMESPACE, older).await.unwrap();
    product.configure(NAMESPACE).await.unwrap();
    // It looks at all resources when it begins to lead.
    tokio::time::sleep(Duration::from_secs(30)).await;
    for name in [NAME, OLD] {
        product.until(TEAM, name, PATIENCE, is_ready).await.unwrap();
    }
    let asked = nothing_failed(product).await;
    let measured = format!("{asked} requests, none lost");
    kept(
        "The operator is rolled back to its earlier version: no server restarts",
        begun,
        &measured,
    );
}

async fn what_waits_is_approved(product: &Product, before: &[Value]) {
    let begun = Instant::now();
    for name in [NAME, OLD] {
        product.until(TEAM, name, PATIENCE, waits).await.unwrap();
    }
    product.llsd(&["rollout", "approve", "--all", "-n", TEAM]).unwrap();
    for name in [NAME, OLD] {
        let is_new = |resource: &Value| is_ready(resource) && !waits(resource);
        product.until(TEAM, name, PATIENCE, is_new).await.unwrap();
    }
    let gone = async || {
        let now = running(product).await;
        now.len() == before.len() && before.iter().all(|pod| !now.contains(pod))
    };
    while !gone().await {
        assert!(begun.elapsed() < PATIENCE * 2, "{:#?}", running(product).await);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let asked = nothing_failed(product).await;
    let measured = format!("two servers, one after the other; {asked} requests, none lost");
    kept("What an upgrade of the operator holds back is approved", begun, &measured);
}
