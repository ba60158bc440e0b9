//! A change of a running server is checked by its own image before a pod is replaced; the words of the image
//! are those of a test here; a real server speaks in `operator`.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use llsd_testbed::access::eventually;
use llsd_testbed::namespace::{DISTRIBUTION, Namespace, condition};
use llsd_testbed::test_operator::TestOperator;
use llsd_testkit::PodState;
use serde_json::{Value, json};

/// What a test need not wait long for.
const DEADLINE: [&str; 2] = ["--preflight-deadline", "20"];

fn spec(endpoint: &str) -> Value {
    json!({
        "distribution": {"name": "starter"},
        "providers": {"inference": [{"id": "mine", "provider": "vllm", "endpoint": endpoint}]},
        "workload": {"overrides": {"minReadySeconds": 0}},
    })
}

pub(crate) fn is_preflight(pod: &Pod) -> bool {
    let labels = pod.metadata.labels.iter().flatten();
    labels
        .into_iter()
        .any(|(label, value)| label == "app.kubernetes.io/component" && value == "preflight")
}

/// Gives the pods of preflights this state, and lets all others become ready.
pub(crate) fn set_preflight(operator: &TestOperator, state: PodState) {
    operator
        .kubelet
        .decide(move |pod| if is_preflight(pod) { state.clone() } else { PodState::Ready });
}

async fn template(namespace: &Namespace<'_>) -> Value {
    namespace.get("Deployment", "llama").await.unwrap()["spec"]["template"].clone()
}

/// The place of the provider in the newest generated file.
async fn place(namespace: &Namespace<'_>, endpoint: &str) -> String {
    let configs = namespace.list("ConfigMap").await;
    let texts = configs.iter().filter_map(|map| map["data"]["config.yaml"].as_str());
    let text = texts.into_iter().find(|text| text.contains(endpoint)).expect("made before the Job");
    let document = llsd_yaml::document::read(text).unwrap();
    let entries = document["providers"]["inference"].as_array().unwrap();
    let index = entries.iter().position(|entry| entry["provider_id"] == "mine").unwrap();
    let key = ["base_url", "url"].into_iter().find(|key| entries[index]["config"][key].is_string());
    format!("providers.inference[{index}].config.{}", key.unwrap())
}

pub(crate) fn refusal(path: &str) -> PodState {
    let problem = json!({"kind": "schema", "path": path, "message": "Input should be a valid URL"});
    let result = json!({
        "verdict": "refused", "server": "llama-stack 0.7.3", "problems": [problem], "more": 2,
    });
    PodState::Ended { message: result.to_string() }
}

#[tokio::test]
async fn what_the_image_refuses_never_reaches_the_running_server() {
    let Some(mut operator) = TestOperator::start(&DEADLINE).await else { return };
    set_preflight(&operator, PodState::Pending);
    let name = operator.namespace("preflight").await.name;
    let namespace = Namespace { cluster: &operator.cluster, name: name.clone() };
    namespace.distribution("llama", spec("http://first:8000")).await;
    namespace.until_ready("llama").await;
    assert!(namespace.list("Job").await.is_empty(), "a first rollout has nothing to protect");
    let before = template(&namespace).await;

    namespace.distribution("llama", spec("http://second:8000")).await;
    let checked =
        namespace.until_condition("llama", "Preflight", "Unknown", "PreflightRunning").await;
    assert_eq!(condition(&checked, "Ready")["reason"], "PreflightRunning", "{checked}");
    assert_eq!(condition(&checked, "Available")["status"], "True", "{checked}");
    assert_eq!(template(&namespace).await, before);
    let path = place(&namespace, "http://second:8000").await;

    // The operator ends in the middle, and the image speaks meanwhile.
    operator.process.kill();
    set_preflight(&operator, refusal(&path));
    operator.restart(&DEADLINE);
    let namespace = Namespace { cluster: &operator.cluster, name: name.clone() };
    let refused = namespace.until_condition("llama", "Stalled", "True", "PreflightFailed").await;
    let message = condition(&refused, "Preflight")["message"].as_str().unwrap();
    let words = "spec.providers.inference[0].endpoint: Input should be a valid URL";
    assert!(message.contains(words) && message.contains("and 2 more"), "{message}");
    assert_eq!(condition(&refused, "Ready")["status"], "False", "{refused}");
    assert_eq!(refused["status"]["preflight"]["verdict"], "Refused", "{refused}");
    namespace.until_event("llama", "PreflightFailed", words).await;
    assert_eq!(template(&namespace).await, before);
    let job =
        format!("llama-preflight-{}", refused["status"]["preflight"]["hash"].as_str().unwrap());
    namespace.until_gone("Job", &job).await;

    // Nobody is asked again, and nothing is asked of the API server at rest.
    let audit = operator.cluster.audit();
    eventually("nothing is asked for five seconds", async || {
        let mark = audit.mark().await.unwrap();
        tokio::time::sleep(Duration::from_secs(5)).await;
        let asked = audit.requests_of(&operator.user).await.unwrap().since(mark).except_watches();
        asked.only(|request| request.namespace == namespace.name).is_empty()
    })
    .await;
    operator.restart(&DEADLINE);
    let namespace = Namespace { cluster: &operator.cluster, name };
    namespace.patch(DISTRIBUTION, "llama", &json!({"metadata": {"labels": {"a": "b"}}})).await;
    namespace.quiet(&operator.user).await;
    assert!(namespace.list("Job").await.is_empty(), "what it said is remembered");

    // What was refused is taken back, and then asked for again, of an image that takes it by now.
    namespace.distribution("llama", spec("http://first:8000")).await;
    let back = namespace.until_ready("llama").await;
    assert!(condition(&back, "Preflight").is_null(), "{back}");
    assert_eq!(template(&namespace).await, before);
    set_preflight(&operator, PodState::Ready);
    namespace.distribution("llama", spec("http://second:8000")).await;
    let passed = namespace.until_condition("llama", "Preflight", "True", "PreflightPassed").await;
    assert_eq!(passed["status"]["preflight"]["verdict"], "Good", "{passed}");
    namespace.until_ready("llama").await;
    assert_ne!(template(&namespace).await, before);
    namespace.until_gone("Job", &job).await;
}

#[tokio::test]
async fn what_cannot_be_checked_is_rolled_out_with_a_warning_and_what_cannot_be_pulled_is_not() {
    let Some(operator) = TestOperator::start(&DEADLINE).await else { return };
    let pulls = PodState::ImagePull { message: "manifest unknown".into() };
    set_preflight(&operator, pulls);
    let (first, second) = ("http://first:8000", "http://second:8000");
    // A quota that leaves no room for a Job, and one that leaves none for its pod.
    let tight = operator.namespace("quota").await;
    limit(&tight, &json!({"count/jobs.batch": "0"})).await;
    let podless = operator.namespace("podless").await;
    limit(&podless, &json!({"pods": "1"})).await;
    let pulled = operator.namespace("pull").await;
    let off = operator.namespace("off").await;
    for namespace in [&tight, &podless, &pulled, &off] {
        namespace.distribution("llama", spec(first)).await;
    }
    for namespace in [&tight, &podless, &pulled, &off] {
        namespace.until_ready("llama").await;
        let mut changed = spec(second);
        if namespace.name == off.name {
            changed["workload"]["preflight"] = json!("Off");
        }
        namespace.distribution("llama", changed).await;
    }
    let is_second = |deployment: &Value| deployment["status"]["observedGeneration"] == 2;
    off.until("Deployment", "llama", "is changed", is_second).await;
    assert!(condition(&off.until_ready("llama").await, "Preflight").is_null());

    let refused = pulled.until_condition("llama", "Preflight", "False", "PreflightFailed").await;
    let message = condition(&refused, "Preflight")["message"].as_str().unwrap();
    assert!(message.contains("spec.distribution: the image cannot be pulled"), "{message}");
    assert!(message.contains("manifest unknown"), "{message}");
    let deployment = pulled.get("Deployment", "llama").await.unwrap();
    assert_eq!(deployment["status"]["availableReplicas"], 1, "{deployment}");

    let skipped = tight.until_condition("llama", "Preflight", "Unknown", "PreflightSkipped").await;
    let message = condition(&skipped, "Preflight")["message"].as_str().unwrap();
    assert!(message.contains("exceeded quota"), "{message}");
    tight.until_event("llama", "PreflightSkipped", "exceeded quota").await;
    tight.until("Deployment", "llama", "is changed", is_second).await;
    let denied = podless.until_condition("llama", "Preflight", "Unknown", "PreflightSkipped").await;
    let message = condition(&denied, "Preflight")["message"].as_str().unwrap();
    assert!(message.contains("no pod could be made for it"), "{message}");
    assert!(message.contains("exceeded quota"), "{message}");

    // The image is there by now, and somebody asks again.
    set_preflight(&operator, PodState::Ready);
    let retry = json!({"metadata": {"annotations": {"llamastack.io/retry": "1"}}});
    pulled.patch(DISTRIBUTION, "llama", &retry).await;
    pulled.until_condition("llama", "Preflight", "True", "PreflightPassed").await;
    pulled.until_ready("llama").await;
    changes_without_a_preflight(&operator).await;
}

async fn limit(namespace: &Namespace<'_>, hard: &Value) {
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "tight"},
        "spec": {"hard": hard},
    });
    namespace.apply(&quota.to_string()).await;
    namespace
        .until("ResourceQuota", "tight", "is at work", |now| now["status"]["hard"].is_object())
        .await;
}

/// Only what changes an input of the preflight has one.
async fn changes_without_a_preflight(operator: &TestOperator) {
    let namespace = operator.namespace("unchecked").await;
    let ask = async |note: &str, replicas: u8| {
        let mut spec = spec("http://first:8000");
        spec["workload"]["overrides"]["podAnnotations"] = json!({"note": note});
        spec["workload"]["replicas"] = json!(replicas);
        namespace.distribution("llama", spec).await;
        namespace.until_ready("llama").await;
    };
    ask("a", 1).await;
    ask("b", 1).await;
    ask("b", 2).await;
    let all = operator.cluster.audit().requests_of(&operator.user).await.unwrap();
    let written = all.writes().only(|request| request.namespace == namespace.name);
    let written = written.by_verb_and_resource();
    assert!(written.keys().all(|what| !what.contains("jobs")), "{written:?}");
}
