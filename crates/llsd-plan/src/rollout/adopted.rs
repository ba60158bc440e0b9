//! A Deployment of an earlier operator: it is ours from now on, and its pods run on untouched until
//! the resource changes.

use serde_json::{Value, json};

use crate::objects::labels;

/// What is applied in place of the whole Deployment: whose it is, and for which state and inputs of the
/// resource its own template stays.
pub(super) fn mark(desired: &Value, state: &str) -> Value {
    let metadata = &desired["metadata"];
    json!({
        "apiVersion": desired["apiVersion"],
        "kind": desired["kind"],
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "labels": metadata["labels"],
            "ownerReferences": metadata["ownerReferences"],
            "annotations": {
                labels::PLANNED_FOR: state,
                labels::INPUTS: metadata["annotations"][labels::INPUTS],
                labels::ADOPTED: "true",
            },
        },
    })
}
