//! The rules of `spec.resources` and `spec.disabled`.

use llsd_api::rules;
use llsd_api::v1alpha2::PROVIDER_APIS;
use serde_json::Value;

use super::providers::canonical_api;
use super::value::{against, present};
use crate::problems::suggest::did_you_mean;
use crate::problems::{FieldPath, Findings, Reason};

/// APIs of OGX whose providers come with the image alone.
const APIS_OF_OGX: [&str; 4] = ["messages", "interactions", "skills", "containerRuntime"];

/// APIs of some release that have no providers of their own.
const APIS_WITHOUT_PROVIDERS: [&str; 11] = [
    "benchmarks",
    "connectors",
    "conversations",
    "datasets",
    "models",
    "prompts",
    "scoringFunctions",
    "shields",
    "toolGroups",
    "vectorDbs",
    "vectorStores",
];

pub(super) fn check(spec: &Value, findings: &mut Findings) {
    embedding_models(spec, findings);
    disabled(spec, findings);
}

fn embedding_models(spec: &Value, findings: &mut Findings) {
    let models = present(spec, "resources").and_then(|resources| present(resources, "models"));
    let path = FieldPath::spec().key("resources").key("models");
    for (index, model) in models.and_then(Value::as_array).into_iter().flatten().enumerate() {
        let in_metadata = present(model, "metadata")
            .is_some_and(|metadata| present(metadata, "embedding_dimension").is_some());
        if model["modelType"] == "embedding"
            && present(model, "embeddingDimension").is_none()
            && !in_metadata
        {
            let path = path.index(index).key("embeddingDimension");
            against(rules::EMBEDDING_DIMENSION, &path, Reason::Required, findings);
        }
    }
}

/// A name that no release knows is probably a slip, but disabling nothing does no harm.
fn disabled(spec: &Value, findings: &mut Findings) {
    let known: Vec<&str> =
        PROVIDER_APIS.into_iter().chain(APIS_WITHOUT_PROVIDERS).chain(APIS_OF_OGX).collect();
    for (index, name) in spec["disabled"].as_array().into_iter().flatten().enumerate() {
        let Some(name) = name.as_str().filter(|name| !name.is_empty()) else {
            continue;
        };
        if !known.iter().any(|api| canonical_api(api) == canonical_api(name)) {
            findings.warning(
                &FieldPath::spec().key("disabled").index(index),
                Reason::NotFound,
                format!("no release has an API `{name}`"),
                did_you_mean(name, known.iter().copied(), "remove it"),
            );
        }
    }
}
