//! Two machines: their pods reach each other, and one of them can be lost and come back.

use llsd_node::{MachineNumber, Node, NodeOptions};

use crate::workload::{create, image, in_pod, is_asked_for, server, wait_for};

#[tokio::test]
async fn pods_of_two_machines_reach_each_other_and_a_lost_machine_comes_back() {
    if !is_asked_for() {
        return;
    }
    let options = NodeOptions::default()
        .machines(2)
        .controller_manager_flag("--node-monitor-grace-period=15s");
    let Some(mut node) = Node::start_or_skip(options).await else { return };
    let image = image(&node).await;
    for (pod, machine) in [("first", "node-1"), ("second", "node-2")] {
        create(&node, &server(pod, &image, machine)).await;
    }
    for pod in ["pod/first", "pod/second"] {
        wait_for(&node, pod, "condition=Ready").await;
    }
    let expose = ["expose", "pod", "second", "--name=second", "--port=80", "--target-port=8080"];
    node.kubectl(&expose, None).await.unwrap().expect_success();
    let second = "http://second.default.svc.cluster.local/";
    assert_eq!(in_pod(&node, "first", &["wget", "-qO-", second]).await, "second");
    // Pods keep their addresses on the way, and nothing of the control plane is in the second machine.
    let address = ["get", "pod", "first", "--output=jsonpath={.status.podIP}"];
    let address = node.kubectl(&address, None).await.unwrap().expect_success();
    let first = format!("http://{address}:8080/");
    assert_eq!(in_pod(&node, "second", &["wget", "-qO-", &first]).await, "first");

    let second = MachineNumber(2);
    node.power_off(second).unwrap();
    wait_for(&node, "node/node-2", "condition=Ready=Unknown").await;
    wait_for(&node, "node/node-1", "condition=Ready").await;
    node.power_on(second).await.unwrap();
    wait_for(&node, "pod/second", "condition=Ready").await;
    assert_eq!(in_pod(&node, "first", &["wget", "-qO-", "http://second/"]).await, "second");
    node.stop().unwrap();
}
