//! A cluster without room for one more pod: a broken one makes room for the next, and what a quota denies is told
//! with its remedy.

use serde_json::{Value, json};

use crate::server::{STUCK, ask, operator};
use llsd_testbed::namespace::{Namespace, condition};
use llsd_testbed::test_operator::TestOperator;

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

#[tokio::test]
async fn a_pod_that_serves_nobody_makes_room_for_the_next_one() {
    let Some(operator) = operator().await else { return };
    let namespace = operator.namespace("full").await;
    limit(&namespace, &json!({"pods": "1"})).await;
    ask(&namespace, "llama", &json!({STUCK: "yes"}), 2).await;
    let has_pod = |now: &Value| {
        let is_observed = now["status"]["observedGeneration"] == now["metadata"]["generation"];
        is_observed && now["status"]["replicas"] == 1
    };
    let broken = namespace.until("Deployment", "llama", "has its pod", has_pod).await;
    assert!(broken["status"]["availableReplicas"].is_null(), "{broken}");
    let numbers = &broken["spec"]["strategy"]["rollingUpdate"];
    assert_eq!(
        *numbers,
        json!({"maxSurge": 1, "maxUnavailable": 0}),
        "a first start has no old pod"
    );

    ask(&namespace, "llama", &json!({STUCK: "no"}), 2).await;
    namespace.until_ready("llama").await;
    let comes_first = |now: &Value| {
        now["spec"]["strategy"]["rollingUpdate"] == json!({"maxSurge": 1, "maxUnavailable": 0})
    };
    namespace.until("Deployment", "llama", "lets the next pod come first", comes_first).await;
}

#[tokio::test]
async fn a_quota_that_wants_limits_is_named_with_its_remedy() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("limits").await;
    limit(&namespace, &json!({"limits.cpu": "4", "limits.memory": "8Gi"})).await;
    let workload = |resources: &Value| {
        json!({
            "distribution": {"name": "starter"},
            "workload": {
                "workers": 2, "resources": resources, "overrides": {"minReadySeconds": 0},
            },
        })
    };
    namespace.distribution("llama", workload(&json!({}))).await;
    let denied = namespace.until_condition("llama", "Ready", "False", "ServerFailing").await;
    let message = condition(&denied, "Ready")["message"].as_str().unwrap().to_owned();
    assert!(message.contains("must specify limits.cpu"), "{message}");
    assert!(message.contains("set workload.resources.limits"), "{message}");
    namespace
        .distribution("llama", workload(&json!({"limits": {"cpu": "2", "memory": "4Gi"}})))
        .await;
    namespace.until_ready("llama").await;
}
