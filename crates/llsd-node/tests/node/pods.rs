//! What pods find on the node: Services, names, both registries, kubelets that come and go.

use llsd_node::{MachineNumber, Node, NodeOptions, PRIVATE_REGISTRY, PULLER, Part};
use serde_json::json;

use crate::{
    footprint::Footprint,
    workload::{create, image, in_pod, is_asked_for, server, wait_for},
};

#[tokio::test]
async fn pods_find_each_other_by_name_and_the_system_outside_stays_as_it_was() {
    if !is_asked_for() {
        return;
    }
    let before = Footprint::now(&std::env::temp_dir());
    let Some(mut node) = Node::start_or_skip(NodeOptions::default()).await else { return };
    let image = image(&node).await;
    create(&node, &server("first", &image, "node-1")).await;
    wait_for(&node, "pod/first", "condition=Ready").await;
    let service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "greeting"},
        "spec": {"selector": {"app": "first"}, "ports": [{"port": 80, "targetPort": 8080}]},
    });
    create(&node, &service).await;
    let greeting = "http://greeting.default.svc.cluster.local/";
    // By its name through DNS and the Service's address, from a pod and from the machine itself.
    assert_eq!(in_pod(&node, "first", &["wget", "-qO-", greeting]).await, "first");
    assert_eq!(in_pod(&node, "first", &["wget", "-qO-", "http://greeting/"]).await, "first");
    assert_eq!(node.run("curl", &["--silent", greeting]).unwrap().trim(), "first");

    pulled_with_a_password(&node, &image).await;
    a_restart_of_containerd_and_kubelet_leaves_pods_running(&mut node).await;
    assert_eq!(Footprint::now(&std::env::temp_dir()).settings, before.settings);
    node.stop().unwrap();
    before.nothing_is_left(&std::env::temp_dir());
}

async fn pulled_with_a_password(node: &Node, image: &str) {
    let (user, password) = PULLER;
    let args = ["create", "secret", "docker-registry", "pull"];
    let from = [
        format!("--docker-server={PRIVATE_REGISTRY}"),
        format!("--docker-username={user}"),
        format!("--docker-password={password}"),
    ];
    let args: Vec<&str> = args.into_iter().chain(from.iter().map(String::as_str)).collect();
    node.kubectl(&args, None).await.unwrap().expect_success();
    let (_, repository) = image.split_once('/').unwrap();
    let mut pod = server("private", &format!("{PRIVATE_REGISTRY}/{repository}"), "node-1");
    create(node, &pod).await;
    let waiting = "jsonpath={.status.containerStatuses[0].state.waiting.reason}=ErrImagePull";
    wait_for(node, "pod/private", waiting).await;
    pod["metadata"]["name"] = json!("allowed");
    pod["spec"]["imagePullSecrets"] = json!([{"name": "pull"}]);
    create(node, &pod).await;
    wait_for(node, "pod/allowed", "condition=Ready").await;
}

async fn a_restart_of_containerd_and_kubelet_leaves_pods_running(node: &mut Node) {
    // Not the image, whose name is any of those that its digest has.
    let started = "--output=jsonpath={.status.containerStatuses[0]['containerID','restartCount']}";
    let started = ["get", "pod", "first", started];
    let before = node.kubectl(&started, None).await.unwrap().expect_success();
    for part in [Part::Kubelet, Part::Containerd] {
        node.stop_part(MachineNumber::FIRST, part, "KILL").unwrap();
    }
    for part in [Part::Containerd, Part::Kubelet] {
        node.start_part(MachineNumber::FIRST, part).await.unwrap();
    }
    assert_eq!(in_pod(node, "first", &["wget", "-qO-", "http://greeting/"]).await, "first");
    node.check_alive().unwrap();
    assert_eq!(node.kubectl(&started, None).await.unwrap().expect_success(), before);
}
