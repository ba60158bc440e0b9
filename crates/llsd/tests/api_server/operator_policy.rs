//! The policies on operators, on a real API server: they narrow what an operator's own user may write, and
//! nobody else's.

use std::fmt::Debug;

use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicy;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service, ServiceAccount};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource};
use llsd_install::names;
use llsd_testkit::{ControlPlane, SharedControlPlane};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use llsd_testbed::access::{eventually, is_forbidden};
use llsd_testbed::install::{install, install_namespaced};
use llsd_testbed::namespace::{DISTRIBUTION, Namespace};

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

/// What all objects here are.
trait AnyObject: Clone + Debug + DeserializeOwned + Serialize {}
impl<T: Clone + Debug + DeserializeOwned + Serialize> AnyObject for T {}

async fn create<T: AnyObject>(api: &Api<T>, object: &Value) -> kube::Result<T> {
    api.create(&PostParams::default(), &serde_json::from_value(object.clone()).unwrap()).await
}

async fn apply<T: AnyObject>(api: &Api<T>, object: &Value) -> kube::Result<T> {
    let name = object["metadata"]["name"].as_str().unwrap();
    let params = PatchParams::apply("llama-stack-operator").force();
    api.patch(name, &params, &Patch::Apply(object)).await
}

async fn merge<T: AnyObject>(api: &Api<T>, name: &str, patch: &Value) -> kube::Result<T> {
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await
}

async fn delete<T: AnyObject>(api: &Api<T>, name: &str) -> kube::Result<()> {
    api.delete(name, &DeleteParams::default()).await.map(|_| ())
}

#[track_caller]
fn assert_refused<T: Debug>(answer: kube::Result<T>, message: &str) {
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

const NOT_OURS: &str = "changes and deletes only what is labelled";

/// A resource, without which the garbage collector would delete what it owns.
struct Owner {
    namespace: String,
    reference: Value,
}

impl Owner {
    async fn create(cluster: &ControlPlane, namespace: &str) -> Self {
        let namespace = Namespace { cluster, name: cluster.namespace(namespace).await.unwrap() };
        namespace.distribution("llama", json!({"distribution": {"name": "starter"}})).await;
        let resource = namespace.get(DISTRIBUTION, "llama").await.unwrap();
        let reference = json!({
            "apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
            "name": "llama", "uid": resource["metadata"]["uid"],
        });
        Self { namespace: namespace.name, reference }
    }
}

/// One object of a kind: made with the label, not without it, and left alone where it is somebody else's.
async fn is_bound_to_its_own<T>(operator: &Client, admin: &Client, owner: &Owner, mut object: Value)
where
    T: AnyObject + Resource<Scope = NamespaceResourceScope>,
    T::DynamicType: Default,
{
    let ours: Api<T> = Api::namespaced(operator.clone(), &owner.namespace);
    let others: Api<T> = Api::namespaced(admin.clone(), &owner.namespace);
    object["metadata"] = json!({"name": "foreign"});
    assert_refused(create(&ours, &object).await, "writes only what is labelled");
    create(&others, &object).await.unwrap();
    let label = json!({"metadata": {"labels": self::ours()}});
    assert_refused(merge(&ours, "foreign", &label).await, NOT_OURS);
    assert_refused(delete(&ours, "foreign").await, NOT_OURS);
    object["metadata"] = json!({"name": "ours", "labels": self::ours()});
    apply(&ours, &object).await.unwrap();
    // Somebody takes the label away: what has a resource for its owner is still ours.
    let unlabelled = json!({"metadata": {
        "labels": {"app.kubernetes.io/managed-by": null},
        "ownerReferences": [owner.reference],
    }});
    merge(&others, "ours", &unlabelled).await.unwrap();
    apply(&ours, &object).await.unwrap();
    delete(&ours, "ours").await.unwrap();
}

#[tokio::test]
async fn the_operator_writes_objects_with_its_label_or_owner_and_no_others() {
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    let user = INSTALLED.get_or_init(|| install(cluster)).await;
    let (operator, admin) = (cluster.client_for(user, &[]), cluster.client());
    let owner = Owner::create(cluster, "bound").await;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    is_bound_to_its_own::<ConfigMap>(&operator, &admin, &owner, map).await;
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount"});
    is_bound_to_its_own::<ServiceAccount>(&operator, &admin, &owner, account).await;
    let service = json!({"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80}]}});
    is_bound_to_its_own::<Service>(&operator, &admin, &owner, service).await;
    is_bound_to_its_own::<Deployment>(&operator, &admin, &owner, deployment()).await;
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": containers()}}},
    });
    is_bound_to_its_own::<Job>(&operator, &admin, &owner, job).await;
}

#[tokio::test]
async fn a_copy_of_the_start_programs_is_given_its_label_back_and_deleted_only_with_it() {
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    let user = INSTALLED.get_or_init(|| install(cluster)).await;
    let (operator, admin) = (cluster.client_for(user, &[]), cluster.client());
    let namespace = cluster.namespace("copies").await.unwrap();
    let operators: Api<ConfigMap> = Api::namespaced(operator, &namespace);
    let others: Api<ConfigMap> = Api::namespaced(admin, &namespace);
    let name = "start-program.0a1b2c3d";
    let unlabelled = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    assert_refused(create(&operators, &unlabelled).await, "writes only what is labelled");
    create(&others, &unlabelled).await.unwrap();
    assert_refused(delete(&operators, name).await, NOT_OURS);
    let annotated = json!({"metadata": {"annotations": {"a": "b"}}});
    assert_refused(merge(&operators, name, &annotated).await, "writes only what is labelled");
    let label = json!({"metadata": {"labels": ours()}});
    merge(&operators, name, &label).await.unwrap();
    delete(&operators, name).await.unwrap();
}

fn containers() -> Value {
    json!([{"name": "c", "image": "i"}])
}

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "labels": ours()},
        "spec": {
            "replicas": 0, "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers()}},
        },
    })
}

/// With a stolen token nobody makes a pod beside the cluster's own.
#[tokio::test]
async fn the_operator_writes_nothing_where_the_cluster_itself_runs() {
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    let user = INSTALLED.get_or_init(|| install(cluster)).await;
    let args = ["create", "namespace", "openshift-ingress"];
    cluster.kubectl(&args, None).await.unwrap().expect_success();
    for namespace in ["kube-system", "openshift-ingress"] {
        let client = cluster.client_for(user, &[]);
        let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace);
        let refusal = "writes nothing in namespaces of the cluster";
        assert_refused(apply(&deployments, &deployment()).await, refusal);
        let secrets: Api<Secret> = Api::namespaced(client, namespace);
        assert_refused(create(&secrets, &secret("s", &ours())).await, refusal);
    }
}

/// The policies are the cluster's, and hold for an operator of one namespace too.
#[tokio::test]
async fn an_operator_of_one_namespace_is_bound_too_and_keeps_its_configuration() {
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    let namespace = cluster.namespace("team").await.unwrap();
    let user = install_namespaced(cluster, &namespace).await;
    let operator = cluster.client_for(&user, &[]);
    let maps: Api<ConfigMap> = Api::namespaced(operator.clone(), &namespace);
    let map =
        |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    for name in [names::CONFIG_MAP, names::KEPT_CONFIG_MAP] {
        apply(&maps, &map(name)).await.unwrap();
    }
    assert_refused(apply(&maps, &map("other")).await, "writes only what is labelled");
    let secrets: Api<Secret> = Api::namespaced(operator, &namespace);
    assert_refused(
        create(&secrets, &secret("s", &json!({}))).await,
        "writes only Secrets labelled",
    );
}

#[tokio::test]
async fn the_policies_type_check_without_a_warning() {
    let Some(_) = secrets().await else { return };
    let cluster = CLUSTER.get_or_skip().await.unwrap();
    let policies: Api<ValidatingAdmissionPolicy> = Api::all(cluster.client());
    for name in [names::SECRET_POLICY, names::OBJECT_POLICY] {
        type_checks(&policies, name).await;
    }
}

async fn type_checks(policies: &Api<ValidatingAdmissionPolicy>, name: &str) {
    eventually(&format!("{name} is checked"), async || {
        let policy = policies.get(name).await.unwrap();
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
