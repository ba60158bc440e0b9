//! Resources that were stored before the schema was what it is now.

use llsd_install::names;
use serde_json::json;

use llsd_testbed::access::eventually;
use llsd_testbed::namespace::{DISTRIBUTION, Namespace, condition};
use llsd_testbed::operator::Operator;
use llsd_testbed::story::vllm;
use llsd_testbed::test_operator::TestOperator;

use super::failing_inputs::rests;

/// The operator says so and serves the others.
#[tokio::test]
async fn a_resource_that_cannot_be_read_beside_good_ones() {
    let Some(mut operator) = TestOperator::start(&[]).await else { return };
    operator.process.stop();
    let name = operator.namespace("unreadable").await.name;
    store_unreadable(&operator, &name).await;
    operator.process = Operator::start(&operator.cluster, &operator.user, names::NAMESPACE, &[]);
    let namespace = Namespace { cluster: &operator.cluster, name };
    let stopped = namespace
        .until_condition("number", "ConfigGenerated", "False", "ConfigGenerationFailed")
        .await;
    assert_eq!(stopped["status"]["phase"], "Failed");
    let said = condition(&stopped, "Ready")["message"].as_str().unwrap();
    assert!(said.starts_with("spec.providers.inference: "), "{said}");
    // This one may not even be given a status.
    namespace.until_event("text", "ConfigGenerationFailed", "spec: ").await;
    rests(&operator, &namespace).await;
    assert!(namespace.list("Deployment").await.is_empty());
    namespace.distribution("demo", vllm()).await;
    namespace.until_ready("demo").await;
}

/// Stores resources that the schema does not allow, which is at work again afterwards.
async fn store_unreadable(operator: &TestOperator, namespace: &str) {
    let kubectl = async |args: &[&str], input: Option<&str>| {
        operator.cluster.kubectl(args, input).await.unwrap()
    };
    let crd = "crd/llamastackdistributions.llamastack.io";
    // For its number of pods the API server looks into every spec, whatever its schema.
    let patch = json!([{
        "op": "replace",
        "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec",
        "value": {"x-kubernetes-preserve-unknown-fields": true},
    }, {
        "op": "remove",
        "path": "/spec/versions/0/subresources/scale",
    }]);
    let patch = patch.to_string();
    let policies = ["delete", "validatingadmissionpolicybinding", "--all"];
    kubectl(&policies, None).await.expect_success();
    kubectl(&["patch", crd, "--type=json", "-p", &patch], None).await.expect_success();
    let broken = [
        ("text", json!("just a text")),
        ("number", json!({"distribution": {"name": "starter"}, "providers": {"inference": 7}})),
    ];
    for (name, spec) in broken {
        let object = json!({
            "apiVersion": "llamastack.io/v1alpha2", "kind": DISTRIBUTION,
            "metadata": {"name": name}, "spec": spec,
        });
        eventually("the loose schema is at work", async || {
            let args = ["create", "-n", namespace, "-f", "-"];
            kubectl(&args, Some(&object.to_string())).await.success()
        })
        .await;
    }
    for file in ["deploy/crd.yaml", "deploy/policy.yaml"] {
        operator.operator_namespace().apply_file(file).await;
    }
    let again = json!({"spec": "just another text"}).to_string();
    eventually("the schema is at work again", async || {
        let args = ["patch", "llsd/number", "-n", namespace, "--type=merge", "-p", &again];
        !kubectl(&args, None).await.success()
    })
    .await;
}
