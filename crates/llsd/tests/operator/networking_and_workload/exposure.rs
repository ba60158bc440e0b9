//! Ingress, autoscaler and disruption budget come and go with what the resource says.

use serde_json::{Value, json};

use super::{Namespace, TestOperator, asked};

/// How many objects of a kind there are.
async fn count(namespace: &Namespace<'_>, kind: &str) -> usize {
    namespace.list(kind).await.len()
}

#[tokio::test]
async fn a_server_is_exposed_and_hidden_again() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("exposed").await;
    for (expose, exposed) in [
        (json!(true), true),
        (json!(false), false),
        (json!({}), true),
        (json!(false), false),
        (json!({"hostname": "llama.example.com"}), true),
        (json!({"enabled": false, "hostname": "llama.example.com"}), false),
        (json!(true), true),
    ] {
        asked(&namespace, &json!({"networking": {"expose": expose}})).await;
        if exposed {
            let ready = namespace.until_ready("llama").await;
            let ingress = namespace.get("Ingress", "llama-ingress").await.unwrap();
            let host = &ingress["spec"]["rules"][0]["host"];
            assert_eq!(*host, expose["hostname"], "{ingress}");
            let url = if host.is_string() { "http://llama.example.com" } else { "" };
            assert_eq!(ready["status"]["routeURL"], url, "{ready}");
        } else {
            namespace.until_gone("Ingress", "llama-ingress").await;
            let ready = namespace.until_ready("llama").await;
            assert_eq!(ready["status"]["routeURL"], Value::Null, "{ready}");
        }
    }
}

#[tokio::test]
async fn an_autoscaler_and_a_disruption_budget_come_and_go() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("workload").await;
    let rows = [
        (json!({}), 0, 0),
        (json!({"podDisruptionBudget": {"minAvailable": 1}}), 0, 1),
        // Several pods are drained one by one without asking for it, also those that may come.
        (json!({"autoscaling": {"maxReplicas": 2}}), 1, 1),
        (json!({"replicas": 2}), 0, 1),
        (json!({"replicas": 1}), 0, 0),
    ];
    for (workload, scalers, budgets) in rows {
        asked(&namespace, &json!({"workload": workload})).await;
        let about = workload.to_string();
        namespace.until_ready("llama").await;
        llsd_testbed::access::eventually(&about, async || {
            count(&namespace, "HorizontalPodAutoscaler").await == scalers
                && count(&namespace, "PodDisruptionBudget").await == budgets
        })
        .await;
    }
}
