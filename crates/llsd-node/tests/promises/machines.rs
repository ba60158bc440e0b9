//! Two machines: one is drained, then lost.

use std::time::{Duration, Instant};

use llsd_node::product::Product;
use llsd_node::{MachineNumber, NodeOptions};
use serde_json::{Value, json};

use crate::scene::{
    PATIENCE, TEAM, apply_until_ready, installed, is_ready, kept, nothing_failed, resource, url,
};

const NAME: &str = "spread";
const SECOND: MachineNumber = MachineNumber(2);

#[tokio::test]
async fn a_server_of_two_pods_outlives_a_drained_and_a_lost_machine() {
    let options = NodeOptions::default()
        .machines(2)
        .controller_manager_flag("--node-monitor-grace-period=15s")
        .api_server_flag("--default-unreachable-toleration-seconds=10")
        .api_server_flag("--default-not-ready-toleration-seconds=10");
    let Some(mut product) = installed(options).await else { return };
    let two = json!({"workload": {"replicas": 2, "podDisruptionBudget": {"maxUnavailable": 1}}});
    let ready = apply_until_ready(&product, &resource(NAME, two)).await;
    assert_eq!(machines(&product).await, ["node-1", "node-2"], "the pods are spread");
    product.start_client(TEAM, url(&ready)).await.unwrap();
    nothing_failed(&product).await;

    let begun = Instant::now();
    let drain = ["drain", "node-2", "--ignore-daemonsets", "--delete-emptydir-data"];
    let drain = [&drain[..], &["--timeout=5m"]].concat();
    product.kubectl(&drain).await.unwrap();
    until_on(&product, &["node-1", "node-1"]).await;
    let asked = nothing_failed(&product).await;
    let measured = format!("{asked} requests, none lost");
    kept("A machine is drained", begun, &measured);

    product.kubectl(&["uncordon", "node-2"]).await.unwrap();
    let restart = ["rollout", "restart", "-n", TEAM, &format!("deployment/{NAME}")];
    product.kubectl(&restart).await.unwrap();
    until_on(&product, &["node-1", "node-2"]).await;
    nothing_failed(&product).await;

    let begun = Instant::now();
    product.node.power_off(SECOND).unwrap();
    until_on(&product, &["node-1", "node-1"]).await;
    let replaced = begun.elapsed().as_secs();
    let lost = quiet(&product).await;
    let measured = format!("two pods again after {replaced} s; {lost} requests lost");
    kept("A machine is lost", begun, &measured);
    product.node.stop().unwrap();
}

/// The machines of the server's available pods, sorted.
async fn machines(product: &Product) -> Vec<String> {
    let of_server = format!("app.kubernetes.io/instance={NAME}");
    let list = ["get", "pods", "-n", TEAM, "-l", &of_server, "-o", "json"];
    let pods: Value = serde_json::from_str(&product.kubectl(&list).await.unwrap()).unwrap();
    let is_available = |pod: &&Value| {
        let mut conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
        pod["metadata"]["deletionTimestamp"].is_null()
            && conditions.any(|it| it["type"] == "Ready" && it["status"] == "True")
    };
    let pods = pods["items"].as_array().unwrap().iter().filter(is_available);
    let mut machines: Vec<String> =
        pods.map(|pod| pod["spec"]["nodeName"].as_str().unwrap_or_default().to_owned()).collect();
    machines.sort();
    machines
}

/// Until the pods are on these machines, and the resource says that it is ready.
async fn until_on(product: &Product, wanted: &[&str]) {
    let begun = Instant::now();
    while machines(product).await != wanted {
        assert!(begun.elapsed() < PATIENCE, "pods on {:?}", machines(product).await);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    product.until(TEAM, NAME, PATIENCE, is_ready).await.unwrap();
}

/// Waits until no more requests fail, and gives how many did.
async fn quiet(product: &Product) -> usize {
    let begun = Instant::now();
    let mut failed = product.asked(TEAM).unwrap().failed.len();
    loop {
        tokio::time::sleep(Duration::from_secs(5)).await;
        let now = product.asked(TEAM).unwrap();
        if now.failed.len() == failed {
            return failed;
        }
        assert!(begun.elapsed() < PATIENCE, "{now:?}");
        failed = now.failed.len();
    }
}
