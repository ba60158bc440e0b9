//! A storage migration with one object that the cluster does not take back.

use std::time::Duration;

use assert_cmd::Command;
use llsd_install::{files, names};
use llsd_testbed::access::{eventually, may, within};
use llsd_testbed::install::{apply, file};
use llsd_testbed::namespace::{DISTRIBUTION, Namespace};
use llsd_testbed::neighbour;
use llsd_testbed::test_operator::TestOperator;
use llsd_testbed::webhooks::definition_path;
use serde_json::{Value, json};

/// A policy of the cluster by which nobody may write the resource `refused` back.
fn policy() -> String {
    let api = "admissionregistration.k8s.io/v1";
    let policy = json!({
        "apiVersion": api, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "frozen"},
        "spec": {
            "matchConstraints": {"resourceRules": [{
                "apiGroups": ["llamastack.io"], "apiVersions": ["*"], "operations": ["UPDATE"],
                "resources": ["llamastackdistributions"],
            }]},
            "validations": [{"expression": "object.metadata.name != 'refused'", "message": "frozen"}],
        },
    });
    let binding = json!({
        "apiVersion": api, "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "frozen"},
        "spec": {"policyName": "frozen", "validationActions": ["Deny"]},
    });
    json!({"apiVersion": "v1", "kind": "List", "items": [policy, binding]}).to_string()
}

async fn stored(operator: &TestOperator) -> Value {
    let request = http::Request::get(definition_path()).body(Vec::new()).unwrap();
    let definition: Value = operator.cluster.client().request(request).await.unwrap();
    definition["status"]["storedVersions"].clone()
}

#[tokio::test]
async fn one_object_that_is_refused_costs_no_other_a_second_write() {
    let Some(mut operator) = TestOperator::start(&[]).await else { return };
    let frozen = operator.cluster.namespace("frozen").await.unwrap();
    let other = operator.cluster.namespace("neighbour").await.unwrap();
    let namespace = Namespace { cluster: &operator.cluster, name: frozen.clone() };
    for name in ["one", "refused", "two"] {
        namespace.distribution(name, json!({"distribution": {"name": "starter"}})).await;
        namespace.until_ready(name).await;
    }
    namespace.apply(&policy()).await;
    eventually("the policy is at work", async || {
        let label =
            ["label", "llsd", "refused", "-n", &frozen, "a=b", "--overwrite", "--dry-run=server"];
        !operator.cluster.kubectl(&label, None).await.unwrap().success()
    })
    .await;
    // As v0.9 left it.
    let patch = json!({"status": {"storedVersions": ["v1alpha1", "v1alpha2"]}}).to_string();
    let args =
        ["patch", "crd", names::DEFINITION, "--subresource=status", "--type=merge", "-p", &patch];
    operator.cluster.kubectl(&args, None).await.unwrap().expect_success();
    apply(&operator.cluster, file(&files(), "storage-migration.yaml")).await;
    let client = operator.cluster.client_for(&operator.user, &[]);
    eventually("it may be migrated", async || {
        may(&client, "update", ("llamastack.io", "llamastackdistributions"), &frozen, "").await
    })
    .await;
    let mark = operator.cluster.audit().mark().await.unwrap();
    operator.restart(&["--migrate-storage"]);

    let updates = async |name: &str| {
        let all = operator.cluster.audit().requests_of(&operator.user).await.unwrap().since(mark);
        let of_resources = all.only(|request| {
            request.resource == "llamastackdistributions" && request.verb == "update"
        });
        of_resources.only(|request| request.name == name).len()
    };
    eventually("what is refused is tried again", async || updates("refused").await >= 2).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!((updates("one").await, updates("two").await), (1, 1), "{}", operator.process.log());
    assert_eq!(stored(&operator).await, json!(["v1alpha1", "v1alpha2"]));
    assert!(
        operator.process.log().contains(&format!("{frozen}/refused")),
        "{}",
        operator.process.log()
    );
    let mut by_hand = Command::new(assert_cmd::cargo::cargo_bin!("llsd"));
    by_hand.args(["migrate", "--in-cluster"]);
    by_hand.env("KUBECONFIG", operator.cluster.kubeconfig_for("admin", &[llsd_testkit::MASTERS]));
    let said = tokio::task::spawn_blocking(move || by_hand.output().unwrap()).await.unwrap();
    let text = String::from_utf8(said.stderr).unwrap();
    assert_eq!(said.status.code(), Some(1), "{text}");
    assert!(text.contains(&format!("\n{frozen}/refused: ")), "{text}");
    assert!(text.contains("\nerror: 2 objects were written; 1 were refused"), "{text}");
    let namespace = Namespace { cluster: &operator.cluster, name: other };
    neighbour::becomes_ready(&namespace).await;

    let args = ["delete", "validatingadmissionpolicybinding", "frozen"];
    operator.cluster.kubectl(&args, None).await.unwrap().expect_success();
    let patience = Duration::from_mins(1);
    within(patience, "v1alpha1 is retired", async || {
        stored(&operator).await == json!(["v1alpha2"])
    })
    .await;
    let namespace = Namespace { cluster: &operator.cluster, name: frozen };
    assert!(namespace.get(DISTRIBUTION, "refused").await.is_some());
}
