//! The policy on the operator's Secrets, on a real API server: it narrows what the operator's own
//! user may write, and nobody else's.

use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicy;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use llsd_testkit::{ControlPlane, SharedControlPlane};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use llsd_testbed::access::{eventually, is_forbidden};
use llsd_testbed::install::install;

/// With the controllers, which check the policy's types.
static CLUSTER: SharedControlPlane =
    SharedControlPlane::new(|| ControlPlane::builder().with_controller_manager());
static INSTALLED: OnceCell<String> = OnceCell::const_new();

/// The Secrets of a new namespace, as the operator and as an administrator.
async fn secrets() -> Option<(Api<Secret>, Api<Secret>)> {
    let cluster = CLUSTER.get_or_skip().await?;
    let user = INSTALLED.get_or_init(|| install(cluster)).await;
    let namespace = cluster.namespace("guarded").await.unwrap();
    let operators = Api::namespaced(cluster.client_for(user, &[]), &namespace);
    Some((operators, Api::namespaced(cluster.client(), &namespace)))
}

const LABELLED: &str = "app.kubernetes.io/managed-by=llama-stack-operator";

fn ours() -> Value {
    json!({"app.kubernetes.io/managed-by": "llama-stack-operator"})
}

fn secret(name: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "labels": labels},
        "stringData": {"key": name},
    })
}

async fn create(secrets: &Api<Secret>, secret: &Value) -> kube::Result<Secret> {
    secrets.create(&PostParams::default(), &serde_json::from_value(secret.clone()).unwrap()).await
}

async fn apply(secrets: &Api<Secret>, secret: &Value) -> kube::Result<Secret> {
    let name = secret["metadata"]["name"].as_str().unwrap();
    let params = PatchParams::apply("llama-stack-operator").force();
    secrets.patch(name, &params, &Patch::Apply(secret)).await
}

async fn merge(secrets: &Api<Secret>, name: &str, patch: &Value) -> kube::Result<Secret> {
    secrets.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await
}

async fn delete(secrets: &Api<Secret>, name: &str) -> kube::Result<()> {
    secrets.delete(name, &DeleteParams::default()).await.map(|_| ())
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(answer: kube::Result<T>, message: &str) {
    let refused = answer.unwrap_err();
    assert!(is_forbidden(&refused) && refused.to_string().contains(message), "{refused}");
}

#[tokio::test]
async fn the_operator_creates_applies_changes_and_deletes_secrets_of_its_own() {
    let Some((operators, _)) = secrets().await else { return };
    create(&operators, &secret("created", &ours())).await.unwrap();
    let mut tls = secret("tls", &ours());
    tls["type"] = json!("kubernetes.io/tls");
    tls["stringData"] = json!({"tls.crt": "", "tls.key": ""});
    create(&operators, &tls).await.unwrap();
    apply(&operators, &secret("applied", &ours())).await.unwrap();
    apply(&operators, &secret("created", &ours())).await.unwrap();
    for name in ["created", "tls", "applied"] {
        delete(&operators, name).await.unwrap();
    }
}

#[tokio::test]
async fn the_operator_writes_no_secret_without_its_label() {
    let Some((operators, _)) = secrets().await else { return };
    let refusal = format!("writes only Secrets labelled {LABELLED}");
    for labels in [json!(null), json!({}), json!({"app.kubernetes.io/managed-by": "helm"})] {
        assert_refused(create(&operators, &secret("new", &labels)).await, &refusal);
        assert_refused(apply(&operators, &secret("new", &labels)).await, &refusal);
    }
    create(&operators, &secret("ours", &ours())).await.unwrap();
    let unlabelled = json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": null}}});
    assert_refused(merge(&operators, "ours", &unlabelled).await, &refusal);
}

#[tokio::test]
async fn the_operator_neither_changes_nor_claims_nor_deletes_the_secrets_of_others() {
    let Some((operators, others)) = secrets().await else { return };
    let refusal = format!("changes and deletes only Secrets labelled {LABELLED}");
    create(&others, &secret("foreign", &json!({"app": "theirs"}))).await.unwrap();
    for patch in [json!({"stringData": {"key": "other"}}), json!({"metadata": {"labels": ours()}})]
    {
        assert_refused(merge(&operators, "foreign", &patch).await, &refusal);
    }
    assert_refused(apply(&operators, &secret("foreign", &ours())).await, &refusal);
    assert_refused(delete(&operators, "foreign").await, &refusal);
    assert_eq!(operators.get("foreign").await.unwrap().data.unwrap()["key"].0, b"foreign");
}

/// The cluster would fill such a Secret with the token of any account of the namespace.
#[tokio::test]
async fn the_operator_asks_for_no_tokens_of_other_accounts() {
    let Some((operators, others)) = secrets().await else { return };
    let mut token = secret("token", &ours());
    token["type"] = json!("kubernetes.io/service-account-token");
    token["metadata"]["annotations"] = json!({"kubernetes.io/service-account.name": "default"});
    assert_refused(create(&operators, &token).await, "only Secrets of the types Opaque");
    create(&others, &token).await.unwrap();
}

#[tokio::test]
async fn everybody_else_goes_on_as_before_also_with_the_secrets_of_the_operator() {
    let Some((operators, others)) = secrets().await else { return };
    create(&operators, &secret("ours", &ours())).await.unwrap();
    create(&others, &secret("new", &json!({}))).await.unwrap();
    let unlabelled = json!({"metadata": {"labels": null}});
    merge(&others, "ours", &unlabelled).await.unwrap();
    for name in ["new", "ours"] {
        delete(&others, name).await.unwrap();
    }
}

#[tokio::test]
async fn the_policy_type_checks_without_a_warning() {
    let Some(_) = secrets().await else { return };
    let cluster = CLUSTER.get_or_skip().await.unwrap();
    let policies: Api<ValidatingAdmissionPolicy> = Api::all(cluster.client());
    eventually("the policy is checked", async || {
        let policy = policies.get("llama-stack-k8s-operator-secrets").await.unwrap();
        let Some(checked) = policy.status.filter(|status| status.observed_generation.is_some())
        else {
            return false;
        };
        let warnings = checked.type_checking.and_then(|checks| checks.expression_warnings);
        assert_eq!(warnings.unwrap_or_default(), []);
        true
    })
    .await;
}
