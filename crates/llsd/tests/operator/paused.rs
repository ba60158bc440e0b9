//! A paused resource: the operator keeps its hands off everything but the status.

use llsd_plan::objects::labels::POD_TEMPLATE_HASH;
use llsd_plan::resource::ROLLBACK_TO;
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
    let said = condition(&waits, "Paused")["message"].as_str().unwrap();
    assert!(said.ends_with("; what waits: spec"), "{said}");
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

#[tokio::test]
async fn a_server_that_somebody_rolled_back_stays_ready_when_it_is_paused() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("paused-return").await;
    namespace.distribution("demo", spec("one")).await;
    namespace.until_ready("demo").await;
    let states = namespace.list("ReplicaSet").await;
    let earlier = &states[0]["metadata"]["labels"][POD_TEMPLATE_HASH];
    namespace.distribution("demo", spec("two")).await;
    namespace
        .until("Deployment", "demo", "has the second state", |now| {
            now["spec"]["template"].to_string().contains("two")
        })
        .await;
    namespace.until_ready("demo").await;
    let back = json!({"metadata": {"annotations": {ROLLBACK_TO: earlier}}});
    namespace.patch(RESOURCE, "demo", &back).await;
    namespace.until_condition("demo", "RolledBack", "True", "RollbackRequested").await;
    namespace.until_event("demo", "DeploymentUpdated", "changed because of: spec").await;
    namespace.until_event("demo", "DeploymentUpdated", ROLLBACK_TO).await;
    namespace.until_ready("demo").await;

    pause(&namespace, json!("true")).await;
    let paused = namespace.until_condition("demo", "Paused", "True", "Paused").await;
    assert_eq!(condition(&paused, "Ready")["status"], "True", "{paused}");
    assert_eq!(condition(&paused, "RolledBack")["status"], "True", "{paused}");
    assert_eq!(condition(&paused, "Stalled"), &Value::Null, "{paused}");
}
