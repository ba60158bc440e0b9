//! Who may connect: as the resource says, unless the operator's own configuration says otherwise.

use llsd_install::names;
use serde_json::json;

use super::{Apart, Namespace, TestOperator, ask, condition_message};

async fn network_policies(operator: &TestOperator, flag: Option<bool>) {
    let operators = Namespace { cluster: &operator.cluster, name: names::NAMESPACE.to_owned() };
    let flag = flag.map(|flag| format!("enableNetworkPolicy:\n  enabled: {flag}\n"));
    let flag = flag.unwrap_or_default();
    operators.config_map(names::CONFIG_MAP, json!({"featureFlags": flag})).await;
}

#[tokio::test]
async fn the_operators_configuration_decides_on_network_policies_for_all() {
    let Some(apart) = Apart::shared().await else { return };
    let operator = &apart.operator;
    let asking = operator.namespace("asking").await;
    let silent = operator.namespace("silent").await;
    ask(&asking, &json!({"networking": {"allowedFrom": {"namespaces": ["friends"]}}})).await;
    ask(&silent, &json!({})).await;
    let policy = "llama-network-policy";
    let there = async |namespace: &Namespace<'_>| {
        namespace.until("NetworkPolicy", policy, "is there", |_| true).await
    };
    let found = there(&asking).await;
    assert!(found.to_string().contains("friends"), "{found}");
    assert!(silent.get("NetworkPolicy", policy).await.is_none());

    network_policies(operator, Some(true)).await;
    there(&silent).await;
    there(&asking).await;

    network_policies(operator, Some(false)).await;
    silent.until_gone("NetworkPolicy", policy).await;
    asking.until_gone("NetworkPolicy", policy).await;
    asking
        .until("LlamaStackDistribution", "llama", "says why", |now| {
            condition_message(now, "ConfigGenerated").contains("switches NetworkPolicies off")
        })
        .await;

    network_policies(operator, None).await;
    there(&asking).await;
    assert!(silent.get("NetworkPolicy", policy).await.is_none());
}
