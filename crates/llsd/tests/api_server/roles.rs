//! What the operator may do on a real API server with the rights that its install files give it:
//! all that it does, and nothing else.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, TypeMeta,
};
use kube::core::GroupVersionKind;
use kube::{Api, Client, ResourceExt};
use llsd_install::{files, names};
use llsd_plan::facts::Facts;
use llsd_plan::objects::{ObjectKind, start_program};
use llsd_plan::plan::{Planning, parse_and_plan};
use llsd_testkit::{ControlPlane, SharedControlPlane};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use llsd_testbed::access::{eventually, is_forbidden, may};
use llsd_testbed::install::{file, install, install_namespaced};
use llsd_testbed::rights::{lines, rights};

/// With the controllers, which put the users' roles together, and with the check of owner
/// references that OpenShift has on.
static CLUSTER: SharedControlPlane = SharedControlPlane::new(|| {
    ControlPlane::builder()
        .with_controller_manager()
        .api_server_flag("--enable-admission-plugins=OwnerReferencesPermissionEnforcement")
});
static INSTALLED: OnceCell<String> = OnceCell::const_new();

/// The shared cluster with an operator of all namespaces, and that operator's client.
async fn installed() -> Option<(&'static ControlPlane, Client)> {
    let cluster = CLUSTER.get_or_skip().await?;
    let user = INSTALLED.get_or_init(|| install(cluster)).await;
    Some((cluster, cluster.client_for(user, &[])))
}

/// Every right in a namespace, as `group/resource: verbs`.
const IN_NAMESPACES: &str = "
/configmaps: get list watch create patch delete
/persistentvolumeclaims: get list watch create patch
/pods: list
/secrets: get create patch delete
/serviceaccounts: get list watch create patch delete
/services: get list watch create patch delete
apps/deployments: get list watch create patch delete
apps/replicasets: list
autoscaling/horizontalpodautoscalers: get list watch create patch delete
batch/jobs: get list watch create patch delete
events.k8s.io/events: list create patch
gateway.networking.k8s.io/httproutes: get list watch create patch delete
llamastack.io/llamastackdistributions: get list watch
llamastack.io/llamastackdistributions/finalizers: update
llamastack.io/llamastackdistributions/status: get patch
monitoring.coreos.com/servicemonitors: get list watch create patch delete
networking.k8s.io/ingresses: get list watch create patch delete
networking.k8s.io/networkpolicies: get list watch create patch delete
policy/poddisruptionbudgets: get list watch create patch delete
route.openshift.io/routes: get list watch create patch delete
route.openshift.io/routes/custom-host: create update";

/// Every right to what belongs to no namespace.
const OF_THE_CLUSTER: &str = "
authentication.k8s.io/tokenreviews: create
authorization.k8s.io/subjectaccessreviews: create
config.openshift.io/imagedigestmirrorsets: get list watch
config.openshift.io/imagetagmirrorsets: get list watch
operator.openshift.io/imagecontentsourcepolicies: get list watch";

#[tokio::test]
async fn the_operator_may_do_what_it_does_in_every_namespace_and_nothing_else() {
    let Some((cluster, operator)) = installed().await else { return };
    let namespace = cluster.namespace("somebody").await.unwrap();
    let rights = rights(cluster, &operator, &namespace).await;
    assert_eq!(rights, lines(&[IN_NAMESPACES, OF_THE_CLUSTER]));
}

#[tokio::test]
async fn a_namespaced_operator_has_rights_in_its_own_namespace_alone() {
    let Some((cluster, _)) = installed().await else { return };
    let own = cluster.namespace("team").await.unwrap();
    let other = cluster.namespace("other").await.unwrap();
    let user = install_namespaced(cluster, &own).await;
    let operator = cluster.client_for(&user, &[]);
    let lease = lines(&["\ncoordination.k8s.io/leases: create"]);
    let expected: BTreeSet<String> = lines(&[IN_NAMESPACES]).union(&lease).cloned().collect();
    assert_eq!(rights(cluster, &operator, &own).await, expected);
    assert_eq!(rights(cluster, &operator, &other).await, BTreeSet::new());
    assert_eq!(rights(cluster, &operator, "").await, BTreeSet::new());
    // The same again by asking for the things themselves.
    let secrets: Api<Secret> = Api::namespaced(operator.clone(), &own);
    assert!(secrets.get_opt("none").await.unwrap().is_none());
    let secrets: Api<Secret> = Api::namespaced(operator, &other);
    assert!(is_forbidden(&secrets.get_opt("none").await.unwrap_err()));
}

#[tokio::test]
async fn in_its_own_namespace_the_operator_has_its_lease_and_no_other() {
    let Some((_, operator)) = installed().await else { return };
    let leases = ("coordination.k8s.io", "leases");
    assert!(may(&operator, "create", leases, names::NAMESPACE, "").await);
    for verb in ["get", "update"] {
        assert!(may(&operator, verb, leases, names::NAMESPACE, names::LEASE).await, "{verb}");
        assert!(!may(&operator, verb, leases, names::NAMESPACE, "another").await, "{verb}");
        assert!(!may(&operator, verb, leases, "default", names::LEASE).await, "{verb}");
    }
    for verb in ["patch", "delete"] {
        assert!(!may(&operator, verb, leases, names::NAMESPACE, names::LEASE).await, "{verb}");
    }
    assert!(!may(&operator, "create", leases, "default", "").await);
}

/// Both objects belong to the whole cluster, and others of their kinds to everybody.
#[tokio::test]
async fn the_operator_registers_its_webhooks_in_two_objects_and_no_others() {
    let Some((_, operator)) = installed().await else { return };
    let definitions = ("apiextensions.k8s.io", "customresourcedefinitions");
    let webhooks = ("admissionregistration.k8s.io", "validatingwebhookconfigurations");
    for (kind, name) in [(definitions, names::DEFINITION), (webhooks, names::VALIDATING_WEBHOOK)] {
        for verb in ["list", "watch", "patch"] {
            assert!(may(&operator, verb, kind, "", name).await, "{verb} {name}");
            assert!(!may(&operator, verb, kind, "", "another").await, "{verb}");
        }
        for verb in ["get", "create", "update", "delete"] {
            assert!(!may(&operator, verb, kind, "", name).await, "{verb} {name}");
        }
    }
    let secrets = ("", "secrets");
    for verb in ["get", "patch"] {
        assert!(may(&operator, verb, secrets, names::NAMESPACE, names::WEBHOOK_SECRET).await);
    }
}

#[tokio::test]
async fn secrets_are_listed_and_watched_only_with_the_file_that_says_so() {
    let Some((cluster, _)) = installed().await else { return };
    let own = cluster.namespace("watching").await.unwrap();
    let operator = cluster.client_for(&install_namespaced(cluster, &own).await, &[]);
    let secrets: Api<Secret> = Api::namespaced(operator.clone(), &own);
    let refused = secrets.list_metadata(&ListParams::default()).await.unwrap_err();
    assert!(is_forbidden(&refused), "{refused}");
    let opted = file(&files(), "namespaced/secret-watch.yaml").text();
    let opted = opted.replace(names::NAMESPACE, &own);
    let args = ["apply", "--server-side", "-f", "-"];
    cluster.kubectl(&args, Some(&opted)).await.unwrap().expect_success();
    eventually("Secrets are listed", async || {
        secrets.list_metadata(&ListParams::default()).await.is_ok()
    })
    .await;
    assert!(may(&operator, "watch", ("", "secrets"), &own, "").await);
    assert!(!may(&operator, "watch", ("", "secrets"), "default", "").await);
}

#[tokio::test]
async fn everything_that_is_planned_can_be_applied_and_deleted_with_these_rights() {
    let Some((cluster, operator)) = installed().await else { return };
    let namespace = cluster.namespace("planned").await.unwrap();
    let uid = created(cluster, &resource(&namespace)).await;
    let facts = Facts { owner_uid: Some(uid), ..Default::default() };
    let Planning::Planned(plan) = parse_and_plan(&resource(&namespace), &facts) else {
        panic!("the resource is not planned");
    };
    let params = PatchParams::apply("llama-stack-operator").force();
    let mut kinds = BTreeSet::new();
    let mut objects = plan.objects.manifests();
    for object in &mut objects {
        let kind = object["kind"].as_str().unwrap().to_owned();
        let api = api(&operator, &namespace, object);
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        assert_eq!(
            object["metadata"]["ownerReferences"].is_array(),
            kind != "PersistentVolumeClaim" && !start_program::is_copy(&name)
        );
        for change in ["one", "two"] {
            object["metadata"]["annotations"]["change"] = json!(change);
            let applied = api.patch(&name, &params, &Patch::Apply(&*object)).await;
            applied.unwrap_or_else(|why| panic!("{kind}: {why}"));
        }
        kinds.insert(kind);
    }
    // The Job is no part of a plan.
    for kind in ObjectKind::ALL.iter().filter(|kind| **kind != ObjectKind::Job) {
        let (name, is_planned) = (kind.name(), kinds.contains(kind.name()));
        assert_eq!(is_planned, !kind.is_optional(), "`resource` asks for every kind: {name}");
    }
    for object in &objects {
        let api = api(&operator, &namespace, object);
        let name = object["metadata"]["name"].as_str().unwrap();
        let deleted = api.delete(name, &DeleteParams::default()).await;
        assert_eq!(deleted.is_err(), object["kind"] == "PersistentVolumeClaim", "{object}");
    }
}

#[tokio::test]
async fn the_operator_reports_in_the_status_and_in_events_and_leaves_the_spec_alone() {
    let Some((cluster, operator)) = installed().await else { return };
    let namespace = cluster.namespace("reported").await.unwrap();
    let resource = resource(&namespace);
    let uid = created(cluster, &resource).await;
    let api = api(&operator, &namespace, &resource);
    let params = PatchParams::apply("llama-stack-operator").force();
    let mut status = json!({
        "apiVersion": resource["apiVersion"], "kind": resource["kind"],
        "status": {"phase": "Pending"},
    });
    api.patch_status("all", &params, &Patch::Apply(&status)).await.unwrap();
    status["spec"] = json!({"workload": {"replicas": 3}});
    let refused = api.patch("all", &params, &Patch::Apply(&status)).await.unwrap_err();
    assert!(is_forbidden(&refused), "{refused}");
    let event = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event",
        "metadata": {"name": "all.1", "namespace": namespace},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "llamastack.io/operator", "reportingInstance": "operator-0",
        "action": "Plan", "reason": "ConfigGenerated", "type": "Normal", "note": "a note",
        "regarding": {
            "apiVersion": resource["apiVersion"], "kind": resource["kind"],
            "name": "all", "namespace": namespace, "uid": uid,
        },
    });
    let events = self::api(&operator, &namespace, &event);
    let event = serde_json::from_value(event).unwrap();
    events.create(&PostParams::default(), &event).await.unwrap();
}

#[tokio::test]
async fn editors_write_resources_and_viewers_read_them() {
    let Some((cluster, _)) = installed().await else { return };
    let namespace = cluster.namespace("users").await.unwrap();
    let bindings: Api<RoleBinding> = Api::namespaced(cluster.client(), &namespace);
    for role in ["admin", "edit", "view"] {
        let binding = serde_json::from_value(json!({
            "metadata": {"name": role},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{
                "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": format!("to-{role}"),
            }],
        }));
        bindings.create(&PostParams::default(), &binding.unwrap()).await.unwrap();
    }
    let kind = ("llamastack.io", "llamastackdistributions");
    for (role, writes) in [("admin", true), ("edit", true), ("view", false)] {
        let user = cluster.client_for(&format!("to-{role}"), &[]);
        eventually(&format!("{role} reads resources"), async || {
            may(&user, "list", kind, &namespace, "").await
        })
        .await;
        for verb in ["create", "update", "patch", "delete"] {
            assert_eq!(may(&user, verb, kind, &namespace, "").await, writes, "{role} {verb}");
        }
        let status = ("llamastack.io", "llamastackdistributions/status");
        assert!(may(&user, "get", status, &namespace, "").await, "{role}");
        assert!(!may(&user, "patch", status, &namespace, "").await, "{role}");
    }
}

/// A resource that needs an object of every kind.
fn resource(namespace: &str) -> Value {
    json!({
        "apiVersion": "llamastack.io/v1alpha2",
        "kind": "LlamaStackDistribution",
        "metadata": {"name": "all", "namespace": namespace},
        "spec": {
            "distribution": {"name": "starter"},
            "providers": {"inference": {"provider": "vllm", "endpoint": "http://vllm:8000"}},
            "storage": {"sql": {
                "type": "postgres",
                "connectionString": {"secretKeyRef": {"name": "database", "key": "url"}},
            }},
            "networking": {"expose": true, "allowedFrom": {"namespaces": ["app"]}},
            "workload": {
                "storage": {"size": "1Gi"},
                "autoscaling": {"minReplicas": 1, "maxReplicas": 3},
                "podDisruptionBudget": {"maxUnavailable": 1},
            },
        },
    })
}

/// Creates the resource as an administrator, and says its uid.
async fn created(cluster: &ControlPlane, resource: &Value) -> String {
    let namespace = resource["metadata"]["namespace"].as_str().unwrap();
    let resources = api(&cluster.client(), namespace, resource);
    let object = serde_json::from_value(resource.clone()).unwrap();
    resources.create(&PostParams::default(), &object).await.unwrap().uid().unwrap()
}

fn api(client: &Client, namespace: &str, object: &Value) -> Api<DynamicObject> {
    let types: TypeMeta = serde_json::from_value(object.clone()).unwrap();
    let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(types).unwrap());
    Api::namespaced_with(client.clone(), namespace, &resource)
}
