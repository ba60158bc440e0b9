//! An upgrade of the operator restarts no server: what it would do otherwise waits until it is approved.

use serde_json::{Value, json};

use crate::server::{
    STUCK, ask, is_new, llsd, made_before, operator, pods_and_states, said, write_as_before,
};
use llsd_testbed::namespace::{DISTRIBUTION, Namespace, condition};
use llsd_testbed::test_operator::TestOperator;
use llsd_testkit::PodState;

/// Servers that an operator before made, under one that would start them otherwise.
async fn upgraded(operator: &mut TestOperator, servers: &[&str]) -> String {
    let name = {
        let namespace = operator.namespace("upgrade").await;
        for server in servers {
            ask(&namespace, server, &json!({STUCK: "no"}), 2).await;
            namespace.until_ready(server).await;
        }
        namespace.name
    };
    operator.process.kill();
    let namespace = Namespace { cluster: &operator.cluster, name: name.clone() };
    for server in servers {
        made_before(&namespace, server).await;
    }
    let before = pods_and_states(&namespace).await;
    operator.restart(&[]);
    let namespace = Namespace { cluster: &operator.cluster, name: name.clone() };
    for server in servers {
        let held = namespace.until_condition(server, "UpdatePending", "True", "TemplateKept").await;
        let message = condition(&held, "UpdatePending")["message"].as_str().unwrap().to_owned();
        assert!(
            message.contains("spec.template.spec.containers[llama-stack].command"),
            "{message}"
        );
        assert_eq!(condition(&held, "Ready")["status"], "True", "{held}");
        let deployment = namespace.get("Deployment", server).await.unwrap();
        assert!(!is_new(&deployment), "{deployment}");
    }
    assert_eq!(pods_and_states(&namespace).await, before, "a server was restarted");
    name
}

#[tokio::test]
async fn what_a_new_operator_would_do_otherwise_waits_until_it_is_approved() {
    let Some(mut operator) = operator().await else { return };
    let name = upgraded(&mut operator, &["llama"]).await;
    let namespace = Namespace { cluster: &operator.cluster, name: name.clone() };
    namespace.until_event("llama", "UpdatePending", "containers[llama-stack].command").await;
    // It goes on to hold while it is restarted, and a number of pods is no change of a pod.
    let before = pods_and_states(&namespace).await;
    operator.restart(&[]);
    let namespace = Namespace { cluster: &operator.cluster, name };
    namespace.patch(DISTRIBUTION, "llama", &json!({"spec": {"workload": {"replicas": 2}}})).await;
    let scaled = namespace
        .until("Deployment", "llama", "has two pods", |now| now["status"]["availableReplicas"] == 2)
        .await;
    assert!(!is_new(&scaled));
    assert_eq!(pods_and_states(&namespace).await.1, before.1, "another template was made");
    // The screen says what waits and what to do.
    let shown = said(&llsd(&namespace, &["status", "llama"]).await);
    assert!(shown.contains("llsd rollout approve llama"), "{shown}");
    let approved = llsd(&namespace, &["rollout", "approve", "llama"]).await;
    assert!(approved.status.success(), "{}", said(&approved));
    let now = namespace.until_ready("llama").await;
    assert!(condition(&now, "UpdatePending").is_null(), "{now}");
    assert!(is_new(&namespace.get("Deployment", "llama").await.unwrap()));
    let again = llsd(&namespace, &["rollout", "approve", "llama"]).await;
    assert!(said(&again).contains("nothing is held back"), "{}", said(&again));
    // Both states are kept, and the server can go back.
    let history = said(&llsd(&namespace, &["history", "llama"]).await);
    assert!(history.contains("runs"), "{history}");
    let back = llsd(&namespace, &["rollback", "llama"]).await;
    assert!(back.status.success(), "{}", said(&back));
    let asked = namespace.until_condition("llama", "RolledBack", "True", "RollbackRequested").await;
    assert!(!is_new(&namespace.get("Deployment", "llama").await.unwrap()), "{asked}");
    namespace.until_ready("llama").await;
    // Until the spec changes.
    ask(&namespace, "llama", &json!({STUCK: "no"}), 3).await;
    namespace.until("Deployment", "llama", "is as planned", is_new).await;
    let now = namespace.until_ready("llama").await;
    assert!(condition(&now, "RolledBack").is_null(), "{now}");
}

#[tokio::test]
async fn an_upgrade_reaches_a_server_that_never_ran() {
    let Some(mut operator) = operator().await else { return };
    // What the operator before made never becomes ready.
    operator.kubelet.decide(|_| PodState::NeverReady);
    let (name, deployment) = {
        let namespace = operator.namespace("never-ran").await;
        ask(&namespace, "llama", &json!({STUCK: "no"}), 2).await;
        let has_pod = |now: &Value| now["status"]["replicas"] == 1;
        let deployment = namespace.until("Deployment", "llama", "has a pod", has_pod).await;
        (namespace.name, deployment)
    };
    operator.process.kill();
    let namespace = Namespace { cluster: &operator.cluster, name: name.clone() };
    namespace.delete("Deployment", "llama").await;
    namespace.until_gone("Deployment", "llama").await;
    write_as_before(&namespace, deployment).await;
    let is_seen = |now: &Value| {
        let is_observed = now["status"]["observedGeneration"] == now["metadata"]["generation"];
        is_observed && now["status"]["updatedReplicas"] == 1
    };
    let held = namespace.until("Deployment", "llama", "has a pod of before", is_seen).await;
    assert!(!is_new(&held) && held["status"]["availableReplicas"].is_null(), "{held}");

    operator.kubelet.decide(|pod| {
        let mut volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
        let is_new = volumes.any(|volume| volume.name == "start-program");
        if is_new { PodState::Ready } else { PodState::NeverReady }
    });
    operator.restart(&[]);
    let namespace = Namespace { cluster: &operator.cluster, name };
    namespace.until("Deployment", "llama", "is as this operator plans it", is_new).await;
    let now = namespace.until_ready("llama").await;
    assert!(condition(&now, "UpdatePending").is_null(), "{now}");
}

#[tokio::test]
async fn approval_of_all_stops_at_the_first_server_that_does_not_come_back() {
    let Some(mut operator) = operator().await else { return };
    let servers = ["a", "b", "c"];
    let name = upgraded(&mut operator, &servers).await;
    let namespace = Namespace { cluster: &operator.cluster, name };
    // From now on new pods of b do not become ready.
    operator.kubelet.decide(|pod| {
        let of_b = pod
            .metadata
            .labels
            .iter()
            .flatten()
            .any(|(label, value)| label == "app.kubernetes.io/instance" && value == "b");
        let mut volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
        let is_new = volumes.any(|volume| volume.name == "start-program");
        if of_b && is_new { PodState::NeverReady } else { PodState::Ready }
    });
    let approved = llsd(&namespace, &["rollout", "approve", "--all"]).await;
    let told = said(&approved);
    assert_eq!(approved.status.code(), Some(1), "{told}");
    // Either in the Deployment's words, or as rolled back where the old one had run for a minute.
    assert!(told.contains(&format!("{}/b: ", namespace.name)), "{told}");
    assert!(told.contains("has timed out progressing"), "{told}");
    assert!(told.contains(&format!("not approved: {}/c", namespace.name)), "{told}");
    assert!(is_new(&namespace.get("Deployment", "a").await.unwrap()));
    let untouched = namespace.get("Deployment", "c").await.unwrap();
    assert!(!is_new(&untouched), "{untouched}");
    let b = namespace.get("Deployment", "b").await.unwrap();
    assert_eq!(b["status"]["availableReplicas"], 1, "the old pod of b serves on: {b}");
}
