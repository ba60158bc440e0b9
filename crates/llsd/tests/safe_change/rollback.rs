//! A change that does not become available goes back to the last good state by itself, and is not tried again
//! until somebody asks for that.

use std::time::Duration;

use serde_json::{Value, json};

use crate::server::{STUCK, ask, llsd, operator, pods_and_states, said};
use llsd_testbed::namespace::{Namespace, condition};

/// So long a server must have been available for its state to be a good one.
const GOOD_AFTER: Duration = Duration::from_secs(62);

fn image_and_labels(deployment: &Value) -> (Value, Value) {
    let template = &deployment["spec"]["template"];
    (template["metadata"]["labels"].clone(), template["spec"]["containers"].clone())
}

#[tokio::test]
async fn a_change_that_never_becomes_available_goes_back_and_is_tried_again_only_when_asked() {
    let Some(mut operator) = operator().await else { return };
    let name = {
        let namespace = operator.namespace("rollback").await;
        ask(&namespace, "llama", &json!({STUCK: "no"}), 2).await;
        namespace.until_ready("llama").await;
        tokio::time::sleep(GOOD_AFTER).await;
        namespace.name
    };
    let namespace = Namespace { cluster: &operator.cluster, name: name.clone() };
    let good = image_and_labels(&namespace.get("Deployment", "llama").await.unwrap());
    let (pods, _) = pods_and_states(&namespace).await;
    ask(&namespace, "llama", &json!({STUCK: "yes"}), 2).await;
    namespace
        .until("Deployment", "llama", "has the new template", |now| image_and_labels(now) != good)
        .await;
    // The operator ends in the middle of it.
    operator.process.kill();
    let namespace = Namespace { cluster: &operator.cluster, name: name.clone() };
    namespace
        .until("Deployment", "llama", "misses its deadline", |now| {
            condition(now, "Progressing")["status"] == "False"
        })
        .await;
    operator.restart(&[]);
    let namespace = Namespace { cluster: &operator.cluster, name };
    let back = namespace.until_condition("llama", "RolledBack", "True", "RolledBack").await;
    let message = condition(&back, "RolledBack")["message"].as_str().unwrap();
    assert!(message.contains("has timed out progressing"), "{message}");
    assert!(message.contains("llamastack.io/retry"), "{message}");
    let cause = "its pod: NotReady (llama-stack): it runs, and its readiness probe does not pass";
    assert!(message.contains(cause), "{message}");
    namespace.until_event("llama", "RolledBack", "has timed out progressing").await;
    let deployment = namespace
        .until("Deployment", "llama", "is back", |now| {
            image_and_labels(now) == good && now["status"]["replicas"] == 1
        })
        .await;
    assert_eq!(deployment["status"]["availableReplicas"], 1, "{deployment}");
    assert_eq!(pods_and_states(&namespace).await.0, pods, "the pods of the good state ran on");
    let told = namespace.until_condition("llama", "Ready", "False", "RolledBack").await;
    assert_eq!(condition(&told, "Available")["status"], "True", "{told}");
    assert_eq!(condition(&told, "Stalled")["status"], "True", "{told}");

    // Nothing of it changes by itself, also for an operator that was restarted.
    let quiet = namespace.quiet(&operator.user).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let written =
        operator.cluster.audit().requests_of(&operator.user).await.unwrap().since(quiet).writes();
    let written = written.only(|request| request.namespace == namespace.name);
    assert!(written.is_empty(), "{:?}", written.by_verb_and_resource());
    let shown = llsd(&namespace, &["status", "llama"]).await;
    assert_eq!(shown.status.code(), Some(1));
    assert!(said(&shown).contains("llsd rollout retry llama"), "{}", said(&shown));
    let history = said(&llsd(&namespace, &["history", "llama"]).await);
    assert!(history.contains("runs, last good") && history.contains("failed"), "{history}");

    // What was in the way is gone, and somebody asks for it again.
    operator.kubelet.decide(|_| llsd_testkit::PodState::Ready);
    let retried = llsd(&namespace, &["rollout", "retry", "llama"]).await;
    assert!(retried.status.success(), "{}", said(&retried));
    namespace
        .until("Deployment", "llama", "is tried again", |now| image_and_labels(now) != good)
        .await;
    let ready = namespace.until_ready("llama").await;
    assert!(condition(&ready, "RolledBack").is_null(), "{ready}");
}

#[tokio::test]
async fn who_switches_it_off_keeps_what_was_asked_for() {
    let Some(operator) = operator().await else { return };
    let namespace = operator.namespace("off").await;
    let spec = |stuck: &str| {
        json!({
            "distribution": {"name": "starter"},
            "workload": {
                "workers": 2, "rollback": "Off", "historyLimit": 3,
                "overrides": {
                    "podLabels": {STUCK: stuck}, "progressDeadlineSeconds": 20, "minReadySeconds": 0,
                },
            },
        })
    };
    namespace.distribution("llama", spec("no")).await;
    namespace.until_ready("llama").await;
    let deployment = namespace.get("Deployment", "llama").await.unwrap();
    assert_eq!(deployment["spec"]["revisionHistoryLimit"], 3);
    tokio::time::sleep(GOOD_AFTER).await;
    namespace.distribution("llama", spec("yes")).await;
    let stuck = namespace.until_condition("llama", "Stalled", "True", "RolloutStuck").await;
    assert!(condition(&stuck, "RolledBack").is_null(), "{stuck}");
    let deployment = namespace.get("Deployment", "llama").await.unwrap();
    assert_eq!(deployment["spec"]["template"]["metadata"]["labels"][STUCK], "yes");
}

#[tokio::test]
async fn a_change_that_failed_goes_back_although_the_next_wish_cannot_be_planned() {
    let Some(operator) = operator().await else { return };
    let namespace = operator.namespace("unplanned").await;
    let spec = |stuck: &str| {
        let key = json!({"secretKeyRef": {"name": "keys", "key": "token"}});
        let provider = json!({"id": "mine", "provider": "vllm", "endpoint": "http://mine:8000", "apiKey": key});
        json!({
            "distribution": {"name": "starter"},
            "providers": {"inference": [provider]},
            "workload": {"overrides": {
                "podLabels": {STUCK: stuck}, "progressDeadlineSeconds": 20, "minReadySeconds": 0,
            }},
        })
    };
    namespace.secret("keys", json!({"token": "a-token"})).await;
    namespace.distribution("llama", spec("no")).await;
    namespace.until_ready("llama").await;
    tokio::time::sleep(GOOD_AFTER).await;
    let good = image_and_labels(&namespace.get("Deployment", "llama").await.unwrap());
    namespace.distribution("llama", spec("yes")).await;
    namespace
        .until("Deployment", "llama", "has the new template", |now| image_and_labels(now) != good)
        .await;
    namespace.delete("Secret", "keys").await;
    namespace.until_condition("llama", "Ready", "False", "SecretNotFound").await;
    namespace
        .until("Deployment", "llama", "is back", |now| {
            image_and_labels(now) == good && now["status"]["replicas"] == 1
        })
        .await;
    let back = namespace.until_condition("llama", "RolledBack", "True", "RolledBack").await;
    assert_eq!(condition(&back, "Ready")["reason"], "SecretNotFound", "{back}");

    // The Secret is there again: the change that failed is not tried again by that.
    namespace.secret("keys", json!({"token": "a-token"})).await;
    namespace.until_condition("llama", "Ready", "False", "RolledBack").await;
    let deployment = namespace.get("Deployment", "llama").await.unwrap();
    assert_eq!(image_and_labels(&deployment), good);
}
