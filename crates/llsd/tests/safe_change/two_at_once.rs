//! Two things at once on a real control plane: a change is refused while its port changes, a label is lost or a
//! Secret rotates, and a volume that is to be kept is kept while its resource is paused.

use llsd_testbed::namespace::{DISTRIBUTION, Namespace, condition};
use llsd_testbed::test_operator::TestOperator;
use llsd_testkit::PodState;
use serde_json::{Value, json};

use crate::preflight::{refusal, set_preflight};
use crate::server::{llsd, said};

fn spec(endpoint: &str, port: i32) -> Value {
    let key = json!({"secretKeyRef": {"name": "keys", "key": "token"}});
    let provider = json!({"id": "mine", "provider": "vllm", "endpoint": endpoint, "apiKey": key});
    json!({
        "distribution": {"name": "starter"},
        "providers": {"inference": [provider]},
        "networking": {"port": port, "expose": {"hostname": "llama.example.com"}, "allowedFrom": {"namespaces": ["apps"]}},
        "workload": {"overrides": {"minReadySeconds": 0}},
    })
}

/// The ports by which others reach the server: of the Service, the NetworkPolicy and the Ingress.
async fn ports(namespace: &Namespace<'_>) -> [Value; 3] {
    let spec =
        async |kind: &str, name: &str| namespace.get(kind, name).await.unwrap()["spec"].clone();
    let service = spec("Service", "llama-service").await;
    let policy = spec("NetworkPolicy", "llama-network-policy").await;
    let ingress = spec("Ingress", "llama-ingress").await;
    [
        service["ports"][0]["targetPort"].clone(),
        policy["ingress"][0]["ports"][0]["port"].clone(),
        ingress["rules"][0]["http"]["paths"][0]["backend"]["service"]["port"]["number"].clone(),
    ]
}

/// The port of the pods, and what they say of the values that they were started with.
fn pods(deployment: &Value) -> (Value, Value) {
    let template = &deployment["spec"]["template"];
    let port = template["spec"]["containers"][0]["ports"][0]["containerPort"].clone();
    (port, template["metadata"]["annotations"]["llamastack.io/secret-hash"].clone())
}

#[tokio::test]
async fn a_refused_change_of_the_port_leaves_the_server_reached_whatever_else_happens() {
    let Some(operator) = TestOperator::start(&["--preflight-deadline", "20"]).await else { return };
    set_preflight(&operator, refusal("providers.inference[0]"));
    let namespace = operator.namespace("at-once").await;
    namespace.secret("keys", json!({"token": "first-token"})).await;
    namespace.distribution("llama", spec("http://first:8000", 8321)).await;
    namespace.until_ready("llama").await;
    assert_eq!(ports(&namespace).await, [8321, 8321, 8321].map(|port| json!(port)));

    namespace.distribution("llama", spec("http://second:8000", 9000)).await;
    let refused = namespace.until_condition("llama", "Stalled", "True", "PreflightFailed").await;
    assert_eq!(condition(&refused, "Available")["status"], "True", "{refused}");
    let url = refused["status"]["serviceURL"].as_str().unwrap();
    assert!(url.ends_with(":8321"), "{url}");
    assert_eq!(ports(&namespace).await, [8321, 8321, 8321].map(|port| json!(port)));

    // Somebody overwrites the label by which the operator watches.
    let label = "app.kubernetes.io/managed-by";
    let lost = json!({"metadata": {"labels": {label: "somebody"}}});
    namespace.patch("Deployment", "llama", &lost).await;
    let deployment = namespace
        .until("Deployment", "llama", "has its label again", |now| {
            now["metadata"]["labels"][label] == "llama-stack-operator"
        })
        .await;
    let (port, started_with) = pods(&deployment);
    assert_eq!(port, 8321, "what was refused is not rolled out");

    // A Secret rotates: the pods that run get the new value, and nothing else changes.
    namespace.secret("keys", json!({"token": "second-token"})).await;
    let deployment = namespace
        .until("Deployment", "llama", "is restarted", |now| pods(now).1 != started_with)
        .await;
    assert_eq!(pods(&deployment).0, 8321);

    // The image takes it by now: the ports follow the new pods.
    set_preflight(&operator, PodState::Ready);
    let retried = llsd(&namespace, &["rollout", "retry", "--all"]).await;
    let each = format!("{}/llama is tried again\n", namespace.name);
    assert_eq!((said(&retried), retried.status.code()), (each, Some(0)));
    namespace
        .until("Service", "llama-service", "leads to the new port", |now| {
            now["spec"]["ports"][0]["targetPort"] == 9000
        })
        .await;
    let ready = namespace.until_ready("llama").await;
    assert!(ready["status"]["serviceURL"].as_str().unwrap().ends_with(":9000"), "{ready}");
    assert_eq!(ports(&namespace).await, [9000, 9000, 9000].map(|port| json!(port)));
    let none = llsd(&namespace, &["rollout", "retry", "--all"]).await;
    assert_eq!(said(&none), "nothing was refused, rolled back or is stuck\n");
}

#[tokio::test]
async fn a_volume_that_is_to_be_kept_is_released_while_its_resource_is_paused() {
    let Some(operator) = TestOperator::start(&[]).await else { return };
    let namespace = operator.namespace("released").await;
    let spec =
        json!({"distribution": {"name": "starter"}, "workload": {"storage": {"size": "1Gi"}}});
    namespace.distribution("llama", spec).await;
    namespace.until("PersistentVolumeClaim", "llama-pvc", "is there", |_| true).await;
    let resource = namespace.get(DISTRIBUTION, "llama").await.unwrap();
    let paused = json!({"metadata": {"annotations": {"llamastack.io/paused": "true"}}});
    namespace.patch(DISTRIBUTION, "llama", &paused).await;
    namespace.until_condition("llama", "Paused", "True", "Paused").await;
    let owner = json!({
        "apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution", "name": "llama",
        "uid": resource["metadata"]["uid"],
    });
    let bound = json!({"metadata": {"ownerReferences": [owner]}});
    namespace.patch("PersistentVolumeClaim", "llama-pvc", &bound).await;
    namespace
        .until("PersistentVolumeClaim", "llama-pvc", "is nobody's", |now| {
            now["metadata"]["ownerReferences"].as_array().is_none_or(Vec::is_empty)
        })
        .await;
    namespace.delete(DISTRIBUTION, "llama").await;
    namespace.until_gone("Deployment", "llama").await;
    assert!(namespace.get("PersistentVolumeClaim", "llama-pvc").await.is_some());
}
