//! The rules of `spec.resources`.

use llsd_api::rules;
use serde_json::Value;

use super::value::{against, present};
use crate::problems::{FieldPath, Findings, Reason};

pub(super) fn check(spec: &Value, findings: &mut Findings) {
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
