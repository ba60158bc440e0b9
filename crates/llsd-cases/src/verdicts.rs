//! The tables of resources with their verdicts.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::files::{repository, text};

/// One entry of the verdict tables.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Verdict {
    pub name: String,
    /// Why the verdict is right; for the reader.
    pub why: String,
    pub spec: Value,
    pub metadata: Option<Value>,
    pub refused_by: Option<RefusedBy>,
    pub path: Option<String>,
    pub says: Option<String>,
}

/// Who refuses a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RefusedBy {
    Schema,
    Rule,
    Policy,
    Operator,
}

impl Verdict {
    pub fn accepted() -> Vec<Self> {
        table("accepted")
    }

    pub fn refused() -> Vec<Self> {
        table("refused")
    }

    /// The resource that is judged, in the namespace `default`.
    pub fn resource(&self) -> Value {
        let mut resource = json!({
            "apiVersion": "llamastack.io/v1alpha2",
            "kind": "LlamaStackDistribution",
            "metadata": {
                "name": format!("case-{}", self.spec.to_string().len()),
                "namespace": "default",
            },
            "spec": self.spec,
        });
        if let Some(Value::Object(metadata)) = &self.metadata {
            for (field, value) in metadata {
                resource["metadata"][field] = value.clone();
            }
        }
        resource
    }
}

fn table(name: &str) -> Vec<Verdict> {
    let path = repository(&format!("crates/llsd-plan/tests/verdicts/{name}.yaml"));
    serde_saphyr::from_str(&text(&path)).unwrap_or_else(|error| panic!("{name}.yaml: {error}"))
}
