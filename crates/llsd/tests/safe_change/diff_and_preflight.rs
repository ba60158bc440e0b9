//! `llsd diff` and the operator run one pipeline: what diff says of a change that needs a preflight is what the
//! operator then does.

use llsd_testbed::namespace::{DISTRIBUTION, Namespace};
use llsd_testbed::test_operator::TestOperator;
use llsd_testkit::PodState;
use serde_json::{Value, json};
use tokio::process::Command;

const DEADLINE: [&str; 2] = ["--preflight-deadline", "60"];

fn spec(endpoint: &str) -> Value {
    json!({
        "distribution": {"name": "starter"},
        "providers": {"inference": [{"id": "mine", "provider": "vllm", "endpoint": endpoint}]},
        "workload": {"overrides": {"minReadySeconds": 0}},
    })
}

/// Lets the pods of preflights end up so, and all others become ready.
fn decide(operator: &TestOperator, preflight: PodState) {
    operator.kubelet.decide(move |pod| {
        let mut labels = pod.metadata.labels.iter().flatten();
        let component = labels.find(|(label, _)| *label == "app.kubernetes.io/component");
        let is_preflight = component.is_some_and(|(_, value)| value == "preflight");
        if is_preflight { preflight.clone() } else { PodState::Ready }
    });
}

/// What `llsd diff` shows of the resource with this spec, and what it says beside that.
async fn diff(namespace: &Namespace<'_>, spec: &Value) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("llama.yaml");
    let resource = json!({
        "apiVersion": "llamastack.io/v1alpha2", "kind": DISTRIBUTION,
        "metadata": {"name": "llama"}, "spec": spec,
    });
    std::fs::write(&file, resource.to_string()).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_llsd"))
        .args(["diff", "-n", &namespace.name, "-f"])
        .arg(&file)
        .env("KUBECONFIG", namespace.cluster.kubeconfig_path())
        .output()
        .await
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(i32::from(!shown.is_empty())), "{said}");
    (shown, said)
}

#[tokio::test]
async fn diff_shows_a_pending_preflight_as_the_operator_runs_it() {
    let Some(operator) = TestOperator::start(&DEADLINE).await else { return };
    decide(&operator, PodState::Pending);
    let namespace = operator.namespace("diff-preflight").await;
    namespace.distribution("llama", spec("http://first:8000")).await;
    namespace.until_ready("llama").await;
    let changed = spec("http://second:8000");

    // Before the change is applied: the Deployment as it will be, and the Job that comes first.
    let (shown, said) = diff(&namespace, &changed).await;
    assert!(shown.contains("--- live/Deployment/llama\n+++ planned/Deployment/llama"), "{shown}");
    let job = said.split_once("Job ").and_then(|(_, rest)| rest.split_once(',')).unwrap().0;
    let waits = format!("changes once the preflight of this change, Job {job}, has passed");
    assert!(said.contains(&format!("Deployment llama {waits}")), "{said}");
    assert!(namespace.list("Job").await.is_empty(), "diff creates nothing");

    // The operator comes to the same: that very Job, and the Deployment as it was.
    namespace.distribution("llama", changed.clone()).await;
    namespace.until_condition("llama", "Preflight", "Unknown", "PreflightRunning").await;
    assert!(namespace.get("Job", job).await.is_some(), "{job}");
    assert!(diff(&namespace, &changed).await.1.contains(&waits));

    // Once the image has refused it, nothing more changes, and diff says why.
    let problem = json!({"kind": "schema", "path": "providers", "message": "no"});
    let refused = json!({"verdict": "refused", "problems": [problem]});
    decide(&operator, PodState::Ended { message: refused.to_string() });
    namespace.until_condition("llama", "Stalled", "True", "PreflightFailed").await;
    let (shown, said) = diff(&namespace, &changed).await;
    assert!(!shown.contains("planned/Deployment"), "{shown}");
    let stays = format!("stays as it is: the preflight of this change, Job {job}, refused it");
    assert!(said.contains(&stays), "{said}");
}
