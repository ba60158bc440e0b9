//! A real API server admits every planned object of every case, also in a namespace that enforces
//! the `restricted` Pod Security Standard.

#[path = "../../llsd-plan/tests/objects/case.rs"]
mod case;

use std::path::Path;

use case::Case;
use kube::api::{
    Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams, TypeMeta, ValidationDirective,
};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt};
use llsd_api::conversion::{Version, convert};
use llsd_plan::distributions::Distribution;
use llsd_plan::document;
use llsd_plan::facts::{BaseFacts, BaseSource, ExternalProviderFacts, Facts};
use llsd_plan::plan::{Outcome, plan};
use llsd_testkit::{ControlPlane, SharedControlPlane};
use serde_json::{Value, json};

static CLUSTER: SharedControlPlane = SharedControlPlane::new(ControlPlane::builder);

#[tokio::test]
async fn every_object_of_every_case_is_admitted_and_applying_it_again_changes_nothing() {
    let test = "every_object_of_every_case_is_admitted_and_applying_it_again_changes_nothing";
    let Some(cluster) = CLUSTER.get_or_skip(test).await else { return };
    let client = cluster.client();
    let rules = Case::rules().into_iter().map(|rule| (rule.about.clone(), rule));
    let whole = Case::all().into_iter().map(|(file, case)| (file.display().to_string(), case));
    // With problems among the findings nothing is applied.
    let cases = whole.chain(rules).filter(|(_, case)| case.problems.is_empty());
    for (number, (about, case)) in cases.enumerate() {
        let namespace = format!("case-{number}");
        restricted_namespace(&client, &namespace).await;
        for mut object in case.objects().0.in_order() {
            // No API server without their operators serves these.
            if object["kind"] == "HTTPRoute" || object["kind"] == "Route" {
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
    let test = "every_object_of_every_sample_is_admitted";
    let Some(cluster) = CLUSTER.get_or_skip(test).await else { return };
    let client = cluster.client();
    let mut planned = 0;
    for (number, (name, resource)) in samples().into_iter().enumerate() {
        let Outcome::Planned(plan) = plan(&resource, &sample_facts(&resource)) else {
            panic!("{name} is not planned");
        };
        let namespace = format!("sample-{number}");
        restricted_namespace(&client, &namespace).await;
        for mut object in plan.objects.in_order() {
            if object["kind"] == "HTTPRoute" || object["kind"] == "Route" {
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

fn samples() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/samples");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let yaml = files.filter(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    yaml.map(|path| {
        let resource = document::read(&std::fs::read_to_string(&path).unwrap()).unwrap();
        (path.display().to_string(), convert(resource, Version::V1Alpha2))
    })
    .collect()
}

/// What a registry would say of the images that the samples name.
fn sample_facts(resource: &Value) -> Facts {
    let mut facts = Facts::default();
    if resource.pointer("/spec/distribution/image").is_some() {
        let text = Distribution::all()["starter"].base().to_owned();
        facts.image.base = Some(BaseFacts { text, source: BaseSource::Labels, found_in: None });
    }
    let external = ExternalProviderFacts {
        api: "inference".to_owned(),
        provider_type: "remote::custom".to_owned(),
        module: "custom".to_owned(),
    };
    facts.external_providers.insert("registry.example.com/custom:v1".to_owned(), external);
    facts
}

/// Kubernetes sets `rollingUpdate` by itself and then refuses it beside `Recreate`.
#[tokio::test]
async fn a_server_can_be_given_a_volume_and_lose_it_again() {
    let test = "a_server_can_be_given_a_volume_and_lose_it_again";
    let Some(cluster) = CLUSTER.get_or_skip(test).await else { return };
    let client = cluster.client();
    restricted_namespace(&client, "volume").await;
    let deployment = |file: &str| {
        let (_, case) =
            Case::all().into_iter().find(|(path, _)| path.ends_with(file)).expect("a case");
        let mut objects = case.objects().0.in_order();
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

async fn apply(client: &Client, object: &Value) -> kube::Result<DynamicObject> {
    let of = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let api = api(client, of("/metadata/namespace"), of("/apiVersion"), of("/kind"));
    let params = PatchParams {
        field_manager: Some("llama-stack-operator".into()),
        field_validation: Some(ValidationDirective::Strict),
        force: true,
        ..Default::default()
    };
    api.patch(of("/metadata/name"), &params, &Patch::Apply(object)).await
}

fn api(client: &Client, namespace: &str, api_version: &str, kind: &str) -> Api<DynamicObject> {
    let types = TypeMeta { api_version: api_version.into(), kind: kind.into() };
    let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(types).unwrap());
    if namespace.is_empty() {
        return Api::all_with(client.clone(), &resource);
    }
    Api::namespaced_with(client.clone(), namespace, &resource)
}
