//! A server that is to ask its callers who they are is not opened by accident: neither by one edit that adds
//! access and exposure, nor by a return to a state of before.

use std::time::Duration;

use llsd_testbed::namespace::{DISTRIBUTION, Namespace, condition};
use llsd_testbed::test_operator::TestOperator;
use llsd_testkit::PodState;
use serde_json::{Value, json};

use crate::preflight::{refusal, set_preflight};
use crate::server::{STUCK, llsd, operator, said};

fn spec(is_guarded: bool, stuck: &str) -> Value {
    let mut spec = json!({
        "distribution": {"name": "starter"},
        "networking": {"allowedFrom": {"namespaces": ["apps"]}},
        "workload": {"overrides": {
            "podLabels": {STUCK: stuck}, "progressDeadlineSeconds": 20, "minReadySeconds": 0,
        }},
    });
    if is_guarded {
        spec["access"] = json!({"authentication": {"kubernetes": {}}});
        spec["networking"] = json!({
            "expose": {"hostname": "llama.example.com"},
            "allowedFrom": {"namespaces": ["apps", "others"]},
        });
    }
    spec
}

async fn asks_callers(namespace: &Namespace<'_>) -> bool {
    let deployment = namespace.get("Deployment", "llama").await.unwrap();
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    container["env"].as_array().unwrap().iter().any(|variable| variable["name"] == "LLS_ACCESS")
}

#[tokio::test]
async fn an_edit_that_adds_access_and_exposure_publishes_nothing_before_the_server_asks() {
    let Some(operator) = TestOperator::start(&["--preflight-deadline", "60"]).await else { return };
    set_preflight(&operator, PodState::Pending);
    let namespace = operator.namespace("guarded").await;
    namespace.distribution("llama", spec(false, "no")).await;
    namespace.until_ready("llama").await;
    let policy = namespace.get("NetworkPolicy", "llama-network-policy").await.unwrap();

    namespace.distribution("llama", spec(true, "no")).await;
    let open = namespace.until_condition("llama", "Unguarded", "True", "ServesOpen").await;
    assert_eq!(condition(&open, "Ready")["reason"], "PreflightRunning", "{open}");
    namespace.until_event("llama", "Unguarded", "answer everybody").await;
    let shown = said(&llsd(&namespace, &["status", "llama"]).await);
    assert!(shown.contains("everybody who reaches it"), "{shown}");

    set_preflight(&operator, refusal("server.auth"));
    namespace.until_condition("llama", "Stalled", "True", "PreflightFailed").await;
    namespace.quiet(&operator.user).await;
    assert!(namespace.get("Ingress", "llama-ingress").await.is_none(), "nothing is published");
    let unchanged = namespace.get("NetworkPolicy", "llama-network-policy").await.unwrap();
    assert_eq!(unchanged["spec"], policy["spec"], "nor widened");

    set_preflight(&operator, PodState::Ready);
    let retry = json!({"metadata": {"annotations": {"llamastack.io/retry": "1"}}});
    namespace.patch(DISTRIBUTION, "llama", &retry).await;
    namespace.until("Ingress", "llama-ingress", "is made", |_| true).await;
    assert!(asks_callers(&namespace).await);
    let ready = namespace.until_ready("llama").await;
    assert!(condition(&ready, "Unguarded").is_null(), "{ready}");
}

#[tokio::test]
async fn a_return_does_not_open_a_server_unless_a_person_says_so() {
    let Some(operator) = operator().await else { return };
    let namespace = operator.namespace("stays-guarded").await;
    namespace.distribution("llama", spec(false, "no")).await;
    namespace.until_ready("llama").await;
    tokio::time::sleep(Duration::from_secs(62)).await;
    namespace.distribution("llama", spec(true, "yes")).await;
    let stuck = namespace.until_condition("llama", "Stalled", "True", "RolloutStuck").await;
    assert!(condition(&stuck, "RolledBack").is_null(), "{stuck}");
    let message = condition(&stuck, "DeploymentUpdated")["message"].as_str().unwrap();
    assert!(message.contains("answers everybody") && message.contains("--open"), "{message}");
    assert!(asks_callers(&namespace).await);
    assert!(namespace.get("Ingress", "llama-ingress").await.is_none(), "old pods still serve");

    let back = llsd(&namespace, &["rollback", "llama"]).await;
    assert!(back.status.success(), "{}", said(&back));
    namespace.quiet(&operator.user).await;
    assert!(asks_callers(&namespace).await, "nobody said that it may be opened");
    let back = llsd(&namespace, &["rollback", "llama", "--open"]).await;
    assert!(back.status.success(), "{}", said(&back));
    namespace.until_condition("llama", "RolledBack", "True", "RollbackRequested").await;
    assert!(!asks_callers(&namespace).await);
    namespace.until_condition("llama", "Unguarded", "True", "ServesOpen").await;
    assert!(namespace.get("Ingress", "llama-ingress").await.is_none());
}
