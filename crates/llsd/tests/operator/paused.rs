//! A paused resource: the operator keeps its hands off everything but the status.

use serde_json::{Value, json};

use llsd_testbed::namespace::{Namespace, condition};
use llsd_testbed::test_operator::TestOperator;

const RESOURCE: &str = "LlamaStackDistribution";

fn spec(variable: &str) -> Value {
    json!({
        "distribution": {"name": "starter"},
        "workload": {"overrides": {"env": [{"name": "VARIABLE", "value": variable}]}},
    })
}

async fn pause(namespace: &Namespace<'_>, value: Value) {
    let annotation = json!({"metadata": {"annotations": {"llamastack.io/paused": value}}});
    namespace.patch(RESOURCE, "demo", &annotation).await;
}

#[tokio::test]
async fn a_paused_resource_is_left_alone_and_says_so_until_it_goes_on() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("paused").await;
    namespace.distribution("demo", spec("one")).await;
    namespace.until_ready("demo").await;
    let before = namespace.running("demo").await;
    pause(&namespace, json!("true")).await;
    let paused = namespace.until_condition("demo", "Paused", "True", "Paused").await;
    assert_eq!(condition(&paused, "Ready")["status"], "True", "{paused}");
    namespace.until_event("demo", "Paused", "llamastack.io/paused").await;

    // Neither a change of the resource nor one of an object is answered.
    let change = json!({"spec": spec("two")});
    namespace.patch(RESOURCE, "demo", &change).await;
    let waits = namespace.until_condition("demo", "Ready", "False", "Paused").await;
    assert!(condition(&waits, "Paused")["message"].as_str().unwrap().contains("waits"), "{waits}");
    namespace.delete("Service", "demo-service").await;
    namespace.until_condition("demo", "ServiceReady", "False", "ServiceFailed").await;
    namespace.quiet(&operator.user).await;
    assert_eq!(namespace.running("demo").await, before);
    assert!(namespace.get("Service", "demo-service").await.is_none());

    pause(&namespace, Value::Null).await;
    let ready = namespace.until_ready("demo").await;
    assert_eq!(condition(&ready, "Paused"), &Value::Null);
    assert!(namespace.get("Service", "demo-service").await.is_some());
    let now = namespace.running("demo").await;
    assert!(now.template.to_string().contains("two"), "{}", now.template);
}
