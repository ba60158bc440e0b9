//! The planned objects of every case and every sample, and how they are put to a real API server.

#[path = "../../../llsd-plan/tests/objects/case.rs"]
mod case;

use std::path::{Path, PathBuf};

use kube::Client;
use kube::api::{
    Api, ApiResource, DynamicObject, Patch, PatchParams, TypeMeta, ValidationDirective,
};
use kube::core::GroupVersionKind;
use llsd_api::conversion::{Version, convert};
use llsd_plan::distributions::Distribution;
use llsd_plan::document;
use llsd_plan::facts::{BaseFacts, BaseSource, ExternalProviderFacts, Facts};
use llsd_plan::fingerprint::FIELD_MANAGER;
use llsd_plan::plan::{Outcome, plan};
use serde_json::Value;

use crate::cluster::repository;
pub use case::Case;

/// The cases about objects in which objects are planned, each with what it is about. With problems
/// among the findings nothing is applied.
pub fn object_cases() -> impl Iterator<Item = (String, Case)> {
    let rules = Case::rules().into_iter().map(|rule| (rule.about.clone(), rule));
    let whole = Case::all().into_iter().map(|(file, case)| (file.display().to_string(), case));
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
    let samples = samples().into_iter().map(|(name, resource)| {
        let facts = sample_facts(&resource);
        (name, resource, facts)
    });
    let planned =
        golden_cases().into_iter().chain(samples).filter_map(|(name, resource, mut facts)| {
            facts.owner_uid = uid();
            match plan(&resource, &facts) {
                Outcome::Planned(plan) => Some((name, plan.objects.manifests())),
                Outcome::Refused(_) | Outcome::Unavailable { .. } => None,
            }
        });
    cases.chain(planned).collect()
}

fn golden_cases() -> Vec<(String, Value, Facts)> {
    let folder = repository("crates/llsd-plan/tests/cases");
    entries(&folder)
        .filter(|path| path.is_dir())
        .map(|case| {
            let yaml = |file: &str| {
                std::fs::read_to_string(case.join(file))
                    .ok()
                    .map(|text| document::read(&text).unwrap())
            };
            let facts = yaml("facts.yaml").map(|facts| serde_json::from_value(facts).unwrap());
            let mut facts: Facts = facts.unwrap_or_default();
            if let Ok(text) = std::fs::read_to_string(case.join("base.yaml")) {
                facts.image.base =
                    Some(BaseFacts { text, source: BaseSource::File, found_in: None });
            }
            let resource = convert(yaml("resource.yaml").unwrap(), Version::V1Alpha2);
            (case.display().to_string(), resource, facts)
        })
        .collect()
}

pub fn samples() -> Vec<(String, Value)> {
    let folder = repository("deploy/samples");
    let files = entries(&folder);
    let yaml = files.filter(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    yaml.map(|path| {
        let resource = document::read(&std::fs::read_to_string(&path).unwrap()).unwrap();
        (path.display().to_string(), convert(resource, Version::V1Alpha2))
    })
    .collect()
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path())
}

/// What a registry would say of the images that the samples name.
pub fn sample_facts(resource: &Value) -> Facts {
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

/// Whether no API server serves the object without somebody's operator.
pub fn is_of_others(object: &Value) -> bool {
    object["kind"] == "HTTPRoute" || object["kind"] == "Route"
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
