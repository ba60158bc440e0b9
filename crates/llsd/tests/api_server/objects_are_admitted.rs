//! A real API server admits every planned object of every case, also in a namespace that enforces
//! the `restricted` Pod Security Standard.

use kube::api::PostParams;
use kube::{Client, ResourceExt};
use llsd_cases::objects::ObjectCase;
use llsd_cases::samples::{facts_of, samples};
use llsd_plan::plan::{Planning, parse_and_plan};
use llsd_testkit::{ControlPlane, SharedControlPlane};
use serde_json::{Value, json};

use crate::planned::{api, apply, is_of_others, object_cases};

static CLUSTER: SharedControlPlane = SharedControlPlane::new(ControlPlane::builder);

#[tokio::test]
async fn every_object_of_every_case_is_admitted_and_applying_it_again_changes_nothing() {
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    let client = cluster.client();
    for (number, (about, case)) in object_cases().enumerate() {
        let namespace = format!("case-{number}");
        restricted_namespace(&client, &namespace).await;
        for mut object in case.objects().0.manifests() {
            if is_of_others(&object) {
                continue;
            }
            object["metadata"]["namespace"] = json!(namespace);
            apply(&client, &object).await.unwrap_or_else(|why| panic!("{about}: {why}"));
            // A claim is written once more by the API server's own doing, and rests then.
            let second = apply(&client, &object).await.unwrap();
            let third = apply(&client, &object).await.unwrap();
            assert_eq!(second.resource_version(), third.resource_version(), "{about}: {object}");
            if object["kind"] == "Deployment" {
                admit_pod(&client, &namespace, &object, &about).await;
            }
        }
    }
}

#[tokio::test]
async fn every_object_of_every_sample_is_admitted() {
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    let client = cluster.client();
    let mut planned = 0;
    for (number, (name, resource)) in samples().into_iter().enumerate() {
        let Planning::Planned(plan) = parse_and_plan(&resource, &facts_of(&resource)) else {
            panic!("{name} is not planned");
        };
        let namespace = format!("sample-{number}");
        restricted_namespace(&client, &namespace).await;
        for mut object in plan.objects.manifests() {
            if is_of_others(&object) {
                continue;
            }
            object["metadata"]["namespace"] = json!(namespace);
            apply(&client, &object).await.unwrap_or_else(|why| panic!("{name}: {why}"));
            if object["kind"] == "Deployment" {
                admit_pod(&client, &namespace, &object, &name).await;
            }
        }
        planned += 1;
    }
    assert!(planned > 30, "{planned}");
}

/// Kubernetes sets `rollingUpdate` by itself and then refuses it beside `Recreate`.
#[tokio::test]
async fn a_server_can_be_given_a_volume_and_lose_it_again() {
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    let client = cluster.client();
    restricted_namespace(&client, "volume").await;
    let deployment = |file: &str| {
        let (_, case) =
            ObjectCase::all().into_iter().find(|(path, _)| path.ends_with(file)).expect("a case");
        let mut objects = case.objects().0.manifests();
        objects.retain(|object| object["kind"] == "Deployment");
        let mut deployment = objects.remove(0);
        deployment["metadata"]["namespace"] = json!("volume");
        deployment
    };
    for (file, strategy) in [
        ("default-config.yaml", "RollingUpdate"),
        ("volume.yaml", "Recreate"),
        ("default-config.yaml", "RollingUpdate"),
    ] {
        let applied = apply(&client, &deployment(file)).await.unwrap();
        assert_eq!(applied.data["spec"]["strategy"]["type"], strategy);
    }
}

/// Pod Security refuses pods, and only warns about what makes them.
async fn admit_pod(client: &Client, namespace: &str, deployment: &Value, about: &str) {
    let account = &deployment["spec"]["template"]["spec"]["serviceAccountName"];
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": account, "namespace": namespace},
    });
    apply(client, &account).await.unwrap();
    let pods = api(client, namespace, "v1", "Pod");
    let dry_run = PostParams { dry_run: true, ..Default::default() };
    let mut pod = deployment["spec"]["template"].clone();
    pod["apiVersion"] = json!("v1");
    pod["kind"] = json!("Pod");
    pod["metadata"]["name"] = json!("pod");
    let admitted = pods.create(&dry_run, &serde_json::from_value(pod.clone()).unwrap()).await;
    admitted.unwrap_or_else(|why| panic!("{about}: {why}"));
    // The standard is at work: without our security context the same pod is refused.
    pod["spec"]["containers"][0].as_object_mut().unwrap().remove("securityContext");
    let refused = pods.create(&dry_run, &serde_json::from_value(pod).unwrap()).await;
    assert!(refused.unwrap_err().to_string().contains("violates PodSecurity"), "{about}");
}

async fn restricted_namespace(client: &Client, name: &str) {
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": name, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
    });
    apply(client, &namespace).await.unwrap();
}
