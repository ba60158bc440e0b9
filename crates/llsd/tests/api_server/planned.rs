//! The planned objects of every case and every sample, and how they are put to a real API server.

use kube::Client;
use kube::api::{
    Api, ApiResource, DynamicObject, Patch, PatchParams, TypeMeta, ValidationDirective,
};
use kube::core::GroupVersionKind;
use llsd_cases::golden::GoldenCase;
use llsd_cases::objects::ObjectCase;
use llsd_cases::samples::{facts_of, samples};
use llsd_plan::fingerprint::FIELD_MANAGER;
use llsd_plan::objects::ObjectKind;
use llsd_plan::plan::{Planning, parse_and_plan};
use serde_json::Value;

/// The cases about objects in which objects are planned, each with what it is about. With problems
/// among the findings nothing is applied.
pub fn object_cases() -> impl Iterator<Item = (String, ObjectCase)> {
    let rules = ObjectCase::rules().into_iter().map(|rule| (rule.about.clone(), rule));
    let whole =
        ObjectCase::all().into_iter().map(|(file, case)| (file.display().to_string(), case));
    whole.chain(rules).filter(|(_, case)| case.problems.is_empty())
}

/// All objects of all cases and samples, each set with what it is about. With an owner's uid they
/// refer to their owner.
pub fn everything(owner_uid: Option<&str>) -> Vec<(String, Vec<Value>)> {
    let uid = || owner_uid.map(str::to_owned);
    let cases = object_cases().map(|(about, mut case)| {
        case.facts.owner_uid = uid();
        (about, case.objects().0.manifests())
    });
    let golden = GoldenCase::all().into_iter().map(|case| (case.name, case.resource, case.facts));
    let samples = samples().into_iter().map(|(name, resource)| {
        let facts = facts_of(&resource);
        (name, resource, facts)
    });
    let planned = golden.chain(samples).filter_map(|(name, resource, mut facts)| {
        facts.owner_uid = uid();
        match parse_and_plan(&resource, &facts) {
            Planning::Planned(plan) => Some((name, plan.objects.manifests())),
            Planning::Refused(_) | Planning::Unavailable { .. } => None,
        }
    });
    cases.chain(planned).collect()
}

/// Whether no API server serves the object without somebody's operator.
pub fn is_of_others(object: &Value) -> bool {
    ObjectKind::ALL.iter().any(|kind| kind.is_optional() && object["kind"] == kind.name())
}

/// Applies an object as the operator does.
pub async fn apply(client: &Client, object: &Value) -> kube::Result<DynamicObject> {
    apply_as(client, FIELD_MANAGER, object).await
}

pub async fn apply_as(
    client: &Client,
    manager: &str,
    object: &Value,
) -> kube::Result<DynamicObject> {
    let params = PatchParams {
        field_manager: Some(manager.into()),
        field_validation: Some(ValidationDirective::Strict),
        force: true,
        ..Default::default()
    };
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    api_of(client, object).patch(name, &params, &Patch::Apply(object)).await
}

/// The API that serves an object.
pub fn api_of(client: &Client, object: &Value) -> Api<DynamicObject> {
    let of = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    api(client, of("/metadata/namespace"), of("/apiVersion"), of("/kind"))
}

pub fn api(client: &Client, namespace: &str, api_version: &str, kind: &str) -> Api<DynamicObject> {
    let types = TypeMeta { api_version: api_version.into(), kind: kind.into() };
    let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(types).unwrap());
    if namespace.is_empty() {
        return Api::all_with(client.clone(), &resource);
    }
    Api::namespaced_with(client.clone(), namespace, &resource)
}
