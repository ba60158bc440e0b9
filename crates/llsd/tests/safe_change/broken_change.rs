//! A change whose pods do not run is told while the pods of before serve, is the cause that a return names, and counts
//! no longer once the next change is there.

use std::time::Duration;

use kube::api::{Patch, PatchParams};
use llsd_testbed::namespace::{DISTRIBUTION, Namespace, condition};
use llsd_testbed::test_operator::TestOperator;
use llsd_testkit::PodState;
use serde_json::{Value, json};

/// How pods of a change fare.
const FARE: &str = "fare";
const CRASH: &str =
    "CrashLoopBackOff (llama-stack): exit code 1: ModuleNotFoundError: No module named 'torch'";
/// So long a server must have been available for its state to be a good one.
const GOOD_AFTER: Duration = Duration::from_secs(62);

/// Pods fare as their label says.
async fn operator() -> Option<TestOperator> {
    let operator = TestOperator::start(&[]).await?;
    operator.kubelet.decide(|pod| {
        let fare = pod.metadata.labels.as_ref().and_then(|labels| labels.get(FARE));
        match fare.map(String::as_str) {
            Some("crash") => PodState::crash_loop("ModuleNotFoundError: No module named 'torch'"),
            Some("pending") => PodState::Pending,
            _ => PodState::Ready,
        }
    });
    Some(operator)
}

/// Asks for a server whose rollouts have time to be looked at.
async fn ask(namespace: &Namespace<'_>, fare: &str) {
    let overrides =
        json!({"podLabels": {FARE: fare}, "progressDeadlineSeconds": 45, "minReadySeconds": 0});
    let workload = json!({"workers": 2, "overrides": overrides});
    let spec = json!({"distribution": {"name": "starter"}, "workload": workload});
    namespace.distribution("llama", spec).await;
}

fn message<'a>(object: &'a Value, kind: &str) -> &'a str {
    condition(object, kind)["message"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn a_change_that_crashes_is_told_at_once_and_is_the_cause_of_the_return() {
    let Some(mut operator) = operator().await else { return };
    let name = {
        let namespace = operator.namespace("crashes").await;
        ask(&namespace, "well").await;
        namespace.until_ready("llama").await;
        tokio::time::sleep(GOOD_AFTER).await;
        ask(&namespace, "crash").await;
        let told = namespace.until_condition("llama", "Ready", "False", "ServerFailing").await;
        for kind in ["Ready", "DeploymentReady", "Available"] {
            assert!(message(&told, kind).contains(CRASH), "{kind}: {told}");
        }
        assert_eq!(condition(&told, "Available")["status"], "True", "{told}");
        assert_eq!(told["status"]["phase"], "Initializing", "{told}");
        namespace.until_event("llama", "ServerFailing", CRASH).await;
        namespace.name
    };
    // Who takes the change back has not seen it fail.
    operator.process.kill();
    let namespace = Namespace { cluster: &operator.cluster, name: name.clone() };
    namespace
        .until("Deployment", "llama", "misses its deadline", |now| {
            condition(now, "Progressing")["status"] == "False"
        })
        .await;
    operator.restart(&[]);
    let namespace = Namespace { cluster: &operator.cluster, name: name.clone() };
    let back = namespace.until_condition("llama", "RolledBack", "True", "RolledBack").await;
    let cause = format!("has timed out progressing; its pod: {CRASH}), and the server runs");
    assert!(message(&back, "RolledBack").contains(&cause), "{back}");
    namespace.until_event("llama", "RolledBack", &cause).await;

    // The pods are gone, and the cause is still known to an operator that was restarted.
    namespace.until("Deployment", "llama", "is back", |now| now["status"]["replicas"] == 1).await;
    operator.restart(&[]);
    let namespace = Namespace { cluster: &operator.cluster, name };
    let touched = json!({"metadata": {"annotations": {"example.com/touched": "1"}}});
    namespace.patch(DISTRIBUTION, "llama", &touched).await;
    let later = namespace.until_condition("llama", "Ready", "False", "RolledBack").await;
    assert!(message(&later, "RolledBack").contains(&cause), "{later}");
    assert_eq!(condition(&later, "Available")["status"], "True", "{later}");
}

#[tokio::test]
async fn after_the_next_change_the_crash_of_a_pod_of_before_does_not_count() {
    let Some(operator) = operator().await else { return };
    let namespace = operator.namespace("mended").await;
    ask(&namespace, "crash").await;
    let failed = namespace.until_condition("llama", "Ready", "False", "ServerFailing").await;
    assert_eq!(failed["status"]["phase"], "Failed", "{failed}");
    let generation = failed["metadata"]["generation"].as_i64().unwrap();
    ask(&namespace, "pending").await;
    let mended = namespace
        .until(DISTRIBUTION, "llama", "is rolled out again", |now| {
            let ready = condition(now, "Ready");
            ready["observedGeneration"].as_i64() > Some(generation)
                && ready["reason"] == "RollingOut"
        })
        .await;
    assert_eq!(mended["status"]["phase"], "Initializing", "{mended}");
    // It stays like that, whatever the pod of before does.
    tokio::time::sleep(Duration::from_secs(12)).await;
    let later = namespace.get(DISTRIBUTION, "llama").await.unwrap();
    assert!(!message(&later, "Ready").contains("CrashLoopBackOff"), "{later}");
    assert_eq!(later["status"]["phase"], "Initializing", "{later}");
}

#[tokio::test]
async fn a_container_that_a_probe_killed_is_told_by_its_event() {
    let Some(operator) = operator().await else { return };
    let namespace = operator.namespace("probed").await;
    ask(&namespace, "pending").await;
    namespace
        .until("Deployment", "llama", "has its pod", |now| now["status"]["replicas"] == 1)
        .await;
    let pod = namespace.list("Pod").await.remove(0);
    let (name, uid) =
        (pod["metadata"]["name"].as_str().unwrap(), pod["metadata"]["uid"].as_str().unwrap());
    let regarding = json!({
        "apiVersion": "v1", "kind": "Pod", "namespace": namespace.name, "name": name, "uid": uid,
        "fieldPath": "spec.containers{llama-stack}",
    });
    let notes = [
        ("Unhealthy", "Startup probe failed: dial tcp 10.0.0.5:8321: connect: connection refused"),
        ("Killing", "Container llama-stack failed startup probe, will be restarted"),
    ];
    for (reason, note) in notes {
        let event = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {"name": format!("{name}.{}", reason.to_lowercase())},
            "eventTime": "2026-01-01T00:05:00.000000Z", "type": "Normal", "action": reason,
            "reportingController": "kubelet", "reportingInstance": "node",
            "reason": reason, "note": note, "regarding": regarding,
        });
        namespace.apply(&event.to_string()).await;
    }
    let ended = json!({
        "exitCode": 137, "reason": "Error",
        "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:05:30Z",
    });
    let server = json!({
        "name": "llama-stack", "image": "i", "imageID": "i", "restartCount": 1, "ready": false,
        "state": {"running": {"startedAt": "2026-01-01T00:05:31Z"}},
        "lastState": {"terminated": ended},
    });
    let status = json!({"status": {"phase": "Running", "containerStatuses": [server]}});
    let pods = namespace.api("Pod");
    pods.patch_status(name, &PatchParams::default(), &Patch::Merge(&status)).await.unwrap();
    let failing = namespace.until_condition("llama", "Ready", "False", "ServerFailing").await;
    let expected = "CrashLoopBackOff (llama-stack): exit code 137: the kubelet killed it because its startup probe \
                    failed (connection refused)";
    assert!(message(&failing, "Ready").contains(expected), "{failing}");

    // It is asked for once, not with every look.
    tokio::time::sleep(Duration::from_secs(25)).await;
    let requests = operator.cluster.audit().requests_of(&operator.user).await.unwrap();
    let asked = requests.only(|request| {
        request.namespace == namespace.name
            && request.resource == "events"
            && request.verb == "list"
    });
    assert_eq!(asked.len(), 1, "{:?}", asked.by_verb_and_resource());
}
