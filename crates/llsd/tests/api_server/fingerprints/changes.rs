//! What others do to our objects: whatever touches what we applied is noticed, and mended by
//! applying again; whatever does not is left alone.

use std::time::Duration;

use kube::Client;
use kube::api::{Patch, PatchParams};
use llsd_cases::objects::ObjectCase;
use llsd_plan::fingerprint::of_desired;
use llsd_plan::objects::ObjectKind;
use llsd_testkit::{ControlPlane, SharedControlPlane};
use serde_json::{Value, json};

use super::{CLUSTER, live, live_fingerprint, patch_as, recognise, within};
use crate::planned::{api_of, apply, apply_as, object_cases};

static WITH_CONTROLLERS: SharedControlPlane =
    SharedControlPlane::new(|| ControlPlane::builder().with_controller_manager());

const CONTAINER: &str = "/spec/template/spec/containers/0";
const MANAGED_BY: &str = "/metadata/labels/app.kubernetes.io~1managed-by";

/// An object of this kind, of some case, that has a value at this place.
fn object_with(kind: &str, pointer: &str) -> Value {
    let objects =
        object_cases().flat_map(|(_, case): (String, ObjectCase)| case.objects().0.manifests());
    let found = objects
        .filter(|object| object["kind"] == kind && object.get("stringData").is_none())
        .find(|object| object.pointer(pointer).is_some());
    found.unwrap_or_else(|| panic!("no {kind} has {pointer}"))
}

/// Kind, a place of ours in it, and what somebody writes there; `null` to remove it. Nobody writes into the
/// ConfigMaps and Secrets, which are immutable.
fn tampering() -> Vec<(&'static str, String, Value)> {
    let container = |field: &str| format!("{CONTAINER}/{field}");
    let pod = |field: &str| format!("/spec/template/spec/{field}");
    let mut tampering = vec![
        ("Deployment", container("image"), json!("example.com/other")),
        ("Deployment", container("env/0/value"), json!("other")),
        ("Deployment", container("env/1"), Value::Null),
        ("Deployment", container("ports/0"), Value::Null),
        ("Deployment", container("resources/requests/cpu"), json!("1001m")),
        ("Deployment", container("readinessProbe"), Value::Null),
        ("Deployment", container("readinessProbe/httpGet/path"), json!("/other")),
        ("Deployment", container("securityContext/allowPrivilegeEscalation"), json!(true)),
        ("Deployment", container("securityContext/capabilities/drop/0"), json!("CHOWN")),
        ("Deployment", pod("automountServiceAccountToken"), json!(true)),
        ("Deployment", pod("enableServiceLinks"), json!(true)),
        ("Deployment", "/spec/strategy/rollingUpdate/maxSurge".into(), json!(1)),
        ("Deployment", "/spec/replicas".into(), json!(7)),
        ("Service", "/spec/ports/0/targetPort".into(), json!("http")),
        ("Service", "/spec/ports/0/name".into(), json!("other")),
        ("Service", "/spec/selector".into(), json!({"app": "other"})),
        ("NetworkPolicy", "/spec/ingress/0/ports/0/port".into(), json!(1)),
        ("NetworkPolicy", "/spec/ingress/0/from/0".into(), json!({"ipBlock": {"cidr": "::/0"}})),
        ("NetworkPolicy", "/spec/ingress".into(), Value::Null),
        ("Ingress", "/spec/rules/0/http/paths/0/path".into(), json!("/other")),
        ("HorizontalPodAutoscaler", "/spec/maxReplicas".into(), json!(100)),
        ("HorizontalPodAutoscaler", "/spec/metrics/0/resource/name".into(), json!("memory")),
        ("PodDisruptionBudget", "/spec/maxUnavailable".into(), json!(2)),
        ("ServiceAccount", "/automountServiceAccountToken".into(), json!(true)),
    ];
    // The Job is no part of a plan.
    let planned = |kind: &&ObjectKind| !kind.is_optional() && **kind != ObjectKind::Job;
    for kind in ObjectKind::ALL.iter().filter(planned).map(|kind| kind.name()) {
        tampering.push((kind, MANAGED_BY.into(), json!("somebody")));
        tampering.push((kind, MANAGED_BY.into(), Value::Null));
    }
    tampering
}

#[tokio::test]
async fn whatever_others_do_to_what_we_applied_is_noticed_and_mended() {
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    let client = cluster.client();
    for (kind, pointer, value) in tampering() {
        let about = format!("{kind} {pointer} {value}");
        let namespace = cluster.namespace("tampering").await.unwrap();
        let object = within(&namespace, object_with(kind, &pointer));
        recognise(&client, &about, &object).await;
        let operation = if value.is_null() { "remove" } else { "replace" };
        let operations = json!([{"op": operation, "path": pointer, "value": value}]);
        patch_as(&client, "kubectl-edit", &object, &operations).await;
        assert_noticed_and_mended(&client, &about, &object).await;
        if !value.is_null() {
            let mut theirs = object.clone();
            *theirs.pointer_mut(&pointer).unwrap() = value;
            apply_as(&client, "other", &theirs).await.unwrap();
            assert_noticed_and_mended(&client, &about, &object).await;
        }
    }
}

async fn assert_noticed_and_mended(client: &Client, about: &str, object: &Value) {
    let tampered = live_fingerprint(client, object).await;
    assert_ne!(tampered, Some(of_desired(object)), "not noticed: {about}");
    recognise(client, about, object).await;
}

#[tokio::test]
async fn what_others_add_is_none_of_ours() {
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    let client = cluster.client();
    let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": 1}});
    let backend = json!({"service": {"name": "theirs", "port": {"number": 1}}});
    let sidecar = json!({"name": "theirs", "image": "example.com/sidecar"});
    let variable = json!({"name": "THEIRS", "value": "x"});
    let env = format!("{CONTAINER}/env");
    let memory = "/spec/template/spec/volumes/0/emptyDir/medium";
    let containers = "/spec/template/spec/containers";
    let additions = [
        ("Deployment", env.as_str(), format!("{env}/0"), variable.clone()),
        ("Deployment", env.as_str(), format!("{env}/1"), variable),
        ("Deployment", containers, format!("{containers}/0"), sidecar),
        ("Deployment", "/spec/template/spec/volumes/0/emptyDir", memory.into(), json!("Memory")),
        ("Deployment", CONTAINER, format!("{CONTAINER}/tty"), json!(true)),
        ("Deployment", "/spec", "/spec/minReadySeconds".into(), json!(5)),
        ("Service", "/spec", "/spec/sessionAffinity".into(), json!("ClientIP")),
        ("NetworkPolicy", "/spec", "/spec/egress".into(), json!([{}])),
        ("Ingress", "/spec", "/spec/defaultBackend".into(), backend),
        ("HorizontalPodAutoscaler", "/spec", "/spec/behavior".into(), behavior),
        ("ServiceAccount", "", "/imagePullSecrets".into(), json!([{"name": "theirs"}])),
    ];
    for (kind, ours, pointer, value) in additions {
        let about = format!("{kind} {pointer}");
        let namespace = cluster.namespace("additions").await.unwrap();
        let object = within(&namespace, object_with(kind, ours));
        recognise(&client, &about, &object).await;
        let operations = json!([
            {"op": "add", "path": "/metadata/labels/theirs", "value": "x"},
            {"op": "add", "path": "/metadata/finalizers", "value": ["example.com/theirs"]},
            {"op": "add", "path": pointer, "value": value},
        ]);
        patch_as(&client, "kubectl-edit", &object, &operations).await;
        let mut annotated = json!({"metadata": {"annotations": {"theirs": "x"}}});
        for field in ["apiVersion", "kind"] {
            annotated[field] = object[field].clone();
        }
        for field in ["name", "namespace"] {
            annotated["metadata"][field] = object["metadata"][field].clone();
        }
        apply_as(&client, "other", &annotated).await.unwrap();
        assert_eq!(live_fingerprint(&client, &object).await, Some(of_desired(&object)), "{about}");
    }
}

#[tokio::test]
async fn what_the_cluster_does_by_itself_is_none_of_ours() {
    let Some(cluster) = WITH_CONTROLLERS.get_or_skip().await else { return };
    let client = cluster.client();
    let namespace = cluster.namespace("by-itself").await.unwrap();
    let (_, autoscaled) = ObjectCase::all()
        .into_iter()
        .find(|(path, _)| path.ends_with("autoscaling.yaml"))
        .expect("the case of the autoscaler");
    for object in autoscaled.objects().0.manifests() {
        apply(&client, &within(&namespace, object)).await.unwrap();
    }
    let deployment = within(
        &namespace,
        autoscaled
            .objects()
            .0
            .manifests()
            .into_iter()
            .find(|object| object["kind"] == "Deployment")
            .unwrap(),
    );
    let mut seen = Value::Null;
    for _ in 0..200 {
        seen = live(&client, &deployment).await;
        if seen["status"]["observedGeneration"].is_number() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(seen["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "1");
    assert!(seen["status"]["observedGeneration"].is_number(), "{seen}");
    // As an autoscaler does it.
    let scaled = json!({"spec": {"replicas": 3}});
    let name = deployment["metadata"]["name"].as_str().unwrap();
    let params = PatchParams::apply("autoscaler");
    let params = PatchParams { force: false, ..params };
    api_of(&client, &deployment).patch_scale(name, &params, &Patch::Merge(scaled)).await.unwrap();
    assert_eq!(live(&client, &deployment).await["spec"]["replicas"], 3);
    assert_eq!(live_fingerprint(&client, &deployment).await, Some(of_desired(&deployment)));
}

#[tokio::test]
async fn what_we_no_longer_apply_is_noticed_and_removed() {
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    let client = cluster.client();
    for (kind, field) in [
        ("Deployment", format!("{CONTAINER}/env/0")),
        ("Deployment", format!("{CONTAINER}/livenessProbe")),
        ("Deployment", format!("{CONTAINER}/resources/requests/memory")),
        ("Deployment", "/spec/replicas".into()),
        ("Service", "/spec/ports/0/name".into()),
        ("ConfigMap", MANAGED_BY.into()),
        ("PodDisruptionBudget", MANAGED_BY.into()),
        ("HorizontalPodAutoscaler", "/spec/metrics/0".into()),
        ("Ingress", "/metadata/labels".into()),
    ] {
        let about = format!("{kind} {field}");
        let namespace = cluster.namespace("removal").await.unwrap();
        let object = within(&namespace, object_with(kind, &field));
        recognise(&client, &about, &object).await;
        let less = without(&object, &field);
        assert_ne!(live_fingerprint(&client, &object).await, Some(of_desired(&less)), "{about}");
        recognise(&client, &about, &less).await;
        recognise(&client, &about, &object).await;
    }
}

fn without(object: &Value, pointer: &str) -> Value {
    let mut object = object.clone();
    let (parent, last) = pointer.rsplit_once('/').unwrap();
    let last = last.replace("~1", "/");
    match object.pointer_mut(parent).unwrap() {
        Value::Object(fields) => _ = fields.remove(&last).unwrap(),
        Value::Array(items) => _ = items.remove(last.parse().unwrap()),
        other => panic!("{pointer} is in {other}"),
    }
    object
}

#[tokio::test]
async fn the_order_of_variables_is_restored() {
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    let client = cluster.client();
    let namespace = cluster.namespace("order").await.unwrap();
    let env = format!("{CONTAINER}/env");
    let object = within(&namespace, object_with("Deployment", &env));
    recognise(&client, "as planned", &object).await;
    let operations = json!([
        {"op": "add", "path": format!("{env}/0"), "value": {"name": "THEIRS", "value": "x"}},
        {"op": "move", "from": format!("{env}/1"), "path": format!("{env}/2")},
    ]);
    patch_as(&client, "kubectl-edit", &object, &operations).await;
    assert_noticed_and_mended(&client, "others reorder them", &object).await;
    let mut reordered = object.clone();
    reordered.pointer_mut(&env).unwrap().as_array_mut().unwrap().reverse();
    assert_noticed_and_mended(&client, "we reorder them", &reordered).await;
}
