//! Rights that the operator lacks, told in the status of the resources that need them.

use llsd_testbed::granted::{ROLE, grant_all, revoke};
use llsd_testbed::namespace::{DISTRIBUTION, Namespace, condition};
use llsd_testbed::neighbour;
use llsd_testbed::story::vllm_with_key;
use llsd_testbed::test_operator::TestOperator;
use llsd_testkit::PodState;
use serde_json::{Value, json};

fn lacking(verb: &str, resource: &str, namespace: &Namespace<'_>) -> String {
    let namespace = &namespace.name;
    format!(
        "the operator may not {verb} {resource} in namespace {namespace}: ClusterRole {ROLE} lacks it"
    )
}

/// Waits until the condition says so; gives the resource.
async fn until_limited(namespace: &Namespace<'_>, sentence: &str) -> Value {
    namespace
        .until(DISTRIBUTION, "demo", &format!("AccessLimited says: {sentence}"), |object| {
            let limited = condition(object, "AccessLimited");
            limited["status"] == "True"
                && limited["reason"] == "Forbidden"
                && limited["message"].as_str().is_some_and(|message| message.contains(sentence))
        })
        .await
}

fn starter() -> Value {
    json!({"distribution": {"name": "starter"}})
}

#[tokio::test]
async fn each_right_that_is_lacking_is_told_to_whom_it_concerns_and_to_nobody_else() {
    let Some(operator) = TestOperator::start(&[]).await else { return };
    operator.kubelet.decide(|pod| match &pod.metadata.namespace {
        Some(namespace) if namespace.starts_with("stuck") => PodState::NeverReady,
        _ => PodState::Ready,
    });
    let hidden = operator.namespace("hidden").await;
    let mut exposed = starter();
    exposed["networking"] = json!({"expose": {"hostname": "llama.example.com"}});
    hidden.distribution("demo", exposed).await;
    hidden.until_ready("demo").await;
    revoke(
        &operator.cluster,
        &[
            ("", "secrets", &["get"]),
            ("", "pods", &["list"]),
            ("networking.k8s.io", "ingresses", &["delete"]),
            ("networking.k8s.io", "networkpolicies", &["create"]),
            ("policy", "poddisruptionbudgets", &["create"]),
        ],
    )
    .await;

    // A Secret: nothing can be planned.
    let keyed = operator.namespace("keyed").await;
    keyed.secret("vllm-creds", json!({"token": "word"})).await;
    keyed.distribution("demo", vllm_with_key()).await;
    // Pods: why they do not run is not known.
    let stuck = operator.namespace("stuck").await;
    stuck.distribution("demo", starter()).await;
    // An object before the Deployment, and one after it.
    let (guarded, budgeted) =
        (operator.namespace("guarded").await, operator.namespace("budgeted").await);
    let mut spec = starter();
    spec["networking"] = json!({"allowedFrom": {"namespaces": ["friends"]}});
    guarded.distribution("demo", spec).await;
    let mut spec = starter();
    spec["workload"] = json!({"podDisruptionBudget": {"maxUnavailable": 1}});
    spec["networking"] = json!({"expose": {"hostname": "other.example.com"}});
    budgeted.distribution("demo", spec).await;
    // What is no longer asked for, with another change beside it.
    let unexposed = json!({
        "networking": {"expose": false},
        "workload": {"overrides": {"podLabels": {"team": "one"}}},
    });
    hidden.patch(DISTRIBUTION, "demo", &json!({"spec": unexposed})).await;
    neighbour::becomes_ready(&operator.namespace("neighbour").await).await;

    let sentence = lacking("get", "secrets", &keyed);
    let told = until_limited(&keyed, &sentence).await;
    for kind in ["Ready", "SecretsResolved"] {
        let condition = condition(&told, kind);
        assert_eq!(
            (&condition["status"], &condition["reason"]),
            (&json!("False"), &json!("Forbidden"))
        );
        let message = condition["message"].as_str().unwrap();
        assert!(
            message.contains("spec.providers.inference.apiKey: Secret vllm-creds"),
            "{message}"
        );
        assert!(message.contains(&sentence), "{message}");
    }
    keyed.until_event("demo", "AccessLimited", &sentence).await;

    let told =
        until_limited(&guarded, &lacking("create", "networkpolicies.networking.k8s.io", &guarded))
            .await;
    assert_eq!(condition(&told, "DeploymentUpdated")["reason"], "Forbidden");
    assert!(guarded.get("Deployment", "demo").await.is_none(), "no server without its policy");

    let sentence = lacking("create", "poddisruptionbudgets.policy", &budgeted);
    until_limited(&budgeted, &sentence).await;
    let told = budgeted.until_condition("demo", "Ready", "False", "Forbidden").await;
    assert_eq!(condition(&told, "DeploymentUpdated")["status"], "True");
    assert!(budgeted.get("Ingress", "demo-ingress").await.is_some(), "one stops no other");

    until_limited(&hidden, &lacking("delete", "ingresses.networking.k8s.io", &hidden)).await;
    let told = hidden.until_condition("demo", "Ready", "False", "Forbidden").await;
    let message = condition(&told, "Ready")["message"].to_string();
    assert!(message.contains("Ingress demo-ingress is no longer asked for"), "{message}");
    let deployment = hidden.get("Deployment", "demo").await.unwrap();
    let labels = &deployment["spec"]["template"]["metadata"]["labels"];
    assert_eq!(labels["team"], "one", "all else is applied");

    let told = until_limited(&stuck, &lacking("list", "pods", &stuck)).await;
    assert_eq!(condition(&told, "Ready")["reason"], "RollingOut", "which is all that is known");

    // Said once, and then nothing is written until the right is there.
    let mark = keyed.quiet(&operator.user).await;
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    let requests = operator.cluster.audit().requests_of(&operator.user).await.unwrap().since(mark);
    let writes = requests.writes().only(|request| request.namespace == keyed.name);
    assert!(writes.is_empty(), "{writes:#?}");

    grant_all(&operator.cluster).await;
    for namespace in [&keyed, &guarded, &budgeted, &hidden] {
        let ready = namespace.until_ready("demo").await;
        assert_eq!(condition(&ready, "AccessLimited"), &Value::Null);
    }
    hidden.until_gone("Ingress", "demo-ingress").await;
}

/// What runs cannot be known without it, and a server is not planned anew by guess.
#[tokio::test]
async fn a_deployment_that_may_not_be_read_is_left_alone() {
    let Some(mut operator) = TestOperator::start(&[]).await else { return };
    let namespace = operator.cluster.namespace("blind").await.unwrap();
    let other = operator.cluster.namespace("neighbour").await.unwrap();
    let before = Namespace { cluster: &operator.cluster, name: namespace.clone() };
    before.distribution("demo", starter()).await;
    before.until_ready("demo").await;
    let running = before.running("demo").await;
    revoke(&operator.cluster, &[("apps", "deployments", &["get", "list", "watch"])]).await;
    operator.restart(&[]);
    let namespace = Namespace { cluster: &operator.cluster, name: namespace };
    let sentence = lacking("get", "deployments.apps", &namespace);
    let told = until_limited(&namespace, &sentence).await;
    assert_eq!(condition(&told, "Ready")["reason"], "Forbidden");
    assert_eq!(condition(&told, "Available")["status"], "True", "as it was when it could be seen");
    assert_eq!(told["status"]["availableReplicas"], 1);
    assert_eq!(operator.process.probe("/readyz").await, Some(200));
    assert_eq!(namespace.running("demo").await, running);

    grant_all(&operator.cluster).await;
    namespace.until_ready("demo").await;
    assert_eq!(namespace.running("demo").await, running);
    neighbour::becomes_ready(&Namespace { cluster: &operator.cluster, name: other }).await;
}
