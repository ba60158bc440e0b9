//! A server in a cluster whose pods a test decides about, and the command line beside it.

use std::process::Output;

use kube::api::{Patch, PatchParams};
use llsd_testbed::namespace::{Namespace, name_of};
use llsd_testbed::test_operator::TestOperator;
use llsd_testkit::PodState;
use serde_json::{Value, json};
use tokio::process::Command;

/// Pods with this label never become ready.
pub const STUCK: &str = "stuck";

/// The command of an operator before, with the start program in it.
const BEFORE: [&str; 3] = ["python3", "-c", "print('before')"];

/// A cluster of its own: these tests end the operator.
pub async fn operator() -> Option<TestOperator> {
    let operator = TestOperator::start(&[]).await?;
    operator.kubelet.decide(|pod| {
        let mut labels = pod.metadata.labels.iter().flatten();
        let is_stuck = labels.any(|(label, value)| label == STUCK && value == "yes");
        // Pods that an operator before made are fine, whatever they are labelled.
        let mut volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
        let is_new = volumes.any(|volume| volume.name == "start-program");
        if is_stuck && is_new { PodState::NeverReady } else { PodState::Ready }
    });
    Some(operator)
}

/// Asks for a server that the start program starts.
pub async fn ask(namespace: &Namespace<'_>, name: &str, labels: &Value, workers: u8) {
    // Kubernetes gives up on its rollouts after some seconds.
    let overrides =
        json!({"podLabels": labels, "progressDeadlineSeconds": 20, "minReadySeconds": 0});
    let workload = json!({"workers": workers, "overrides": overrides});
    let spec = json!({"distribution": {"name": "starter"}, "workload": workload});
    namespace.distribution(name, spec).await;
}

/// Writes the Deployment as an operator had that put the start program into the command and recorded no
/// inputs, and waits until that runs.
pub async fn made_before(namespace: &Namespace<'_>, name: &str) {
    let deployment = namespace.get("Deployment", name).await.unwrap();
    write_as_before(namespace, deployment).await;
    namespace
        .until("Deployment", name, "runs as before", |now| {
            let status = &now["status"];
            status["observedGeneration"] == now["metadata"]["generation"]
                && status["updatedReplicas"] == 1
                && status["replicas"] == 1
                && status["availableReplicas"] == 1
        })
        .await;
}

/// The same, whatever becomes of its pods.
pub async fn write_as_before(namespace: &Namespace<'_>, mut deployment: Value) {
    let metadata = &deployment["metadata"];
    let kept = ["name", "namespace", "labels", "annotations", "ownerReferences"];
    deployment["metadata"] =
        kept.map(|field| (field, metadata[field].clone())).into_iter().collect();
    let annotations = deployment["metadata"]["annotations"].as_object_mut().unwrap();
    annotations.retain(|name, _| name == "llamastack.io/planned-for");
    deployment.as_object_mut().unwrap().remove("status");
    let pod = &mut deployment["spec"]["template"]["spec"];
    let without = |items: &mut Value| {
        items.as_array_mut().unwrap().retain(|item| item["name"] != "start-program");
    };
    without(&mut pod["volumes"]);
    without(&mut pod["containers"][0]["volumeMounts"]);
    pod["containers"][0]["command"] = json!(BEFORE);
    let parameters = PatchParams::apply("llama-stack-operator").force();
    let api = namespace.api("Deployment");
    let name = name_of(&deployment).to_owned();
    api.patch(&name, &parameters, &Patch::Apply(&deployment)).await.unwrap();
}

/// What a restart would change: the pods by their uids, and the states that are kept.
pub async fn pods_and_states(namespace: &Namespace<'_>) -> (Vec<Value>, usize) {
    let pods = namespace.list("Pod").await;
    let mut uids: Vec<Value> = pods.iter().map(|pod| pod["metadata"]["uid"].clone()).collect();
    uids.sort_by_key(Value::to_string);
    (uids, namespace.list("ReplicaSet").await.len())
}

/// Whether a Deployment is started by the program in a ConfigMap.
pub fn is_new(deployment: &Value) -> bool {
    deployment["spec"]["template"]["spec"]["containers"][0]["command"] != json!(BEFORE)
}

pub async fn llsd(namespace: &Namespace<'_>, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_llsd"))
        .args(arguments)
        .args(["-n", &namespace.name])
        .env("KUBECONFIG", namespace.cluster.kubeconfig_path())
        .output()
        .await
        .unwrap()
}

/// What a command printed, both ways.
pub fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}
