//! The stand-in makes of pods what a real node does: the table that `make test-node` compares a real node with.

use k8s_openapi::api::core::v1::Pod;
use kube::{Api, api::DeleteParams};
use llsd_kubelet::{ImageStandIn, RunningKubelet};
use llsd_testkit::{ControlPlane, PodCase, node::NodeRoom};
use serde_json::json;

use crate::setup::{create, ready, until};

const IMAGE: &str = "example.com/python";

#[tokio::test(flavor = "multi_thread")]
async fn pods_end_fail_wait_and_are_told_of_as_on_a_real_node() {
    let builder = ControlPlane::builder().with_controller_manager();
    let Some(cluster) = builder.start_or_skip().await else { return };
    let image = |name: &str| {
        (name == IMAGE).then(|| ImageStandIn::python().unwrap().with_working_dir("/opt"))
    };
    let Some(_kubelet) = RunningKubelet::start_or_skip(&cluster, image).await else { return };
    let (client, namespace) = (cluster.client(), cluster.namespace("cases").await.unwrap());
    PodCase::run_all(&PodCase::all(), &client, &namespace, IMAGE).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_waits_until_one_that_takes_its_room_is_gone() {
    let Some(cluster) = ControlPlane::builder().with_controller_manager().start_or_skip().await
    else {
        return;
    };
    let room = NodeRoom { cpu: "2", memory: "4Gi" };
    let image = |_: &str| Some(ImageStandIn::python().unwrap());
    let kubelet = RunningKubelet::start_with_room(&cluster, room, image).await.unwrap();
    let (client, namespace) = (cluster.client(), cluster.namespace("room").await.unwrap());
    let pod = |name: &str, cpu: &str| {
        json!({
            "metadata": { "name": name },
            "spec": {
                "terminationGracePeriodSeconds": 1,
                "containers": [{
                    "name": "main", "image": IMAGE, "command": ["sleep", "1000"],
                    "resources": { "requests": { "cpu": cpu } },
                }],
            },
        })
    };
    create::<Pod>(&client, &namespace, pod("first", "1500m")).await;
    ready(&client, &namespace, "first").await;
    create::<Pod>(&client, &namespace, pod("second", "1")).await;
    create::<Pod>(&client, &namespace, pod("small", "500m")).await;
    ready(&client, &namespace, "small").await;
    let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
    until(&client, &namespace, "the second waits for room", async || {
        let status = pods.get("second").await.unwrap().status?;
        let conditions = status.conditions?;
        conditions.iter().any(|it| it.reason.as_deref() == Some("Unschedulable")).then_some(())
    })
    .await;
    pods.delete("first", &DeleteParams::default()).await.unwrap();
    ready(&client, &namespace, "second").await;
    drop(kubelet);
}
