//! Variables that name models, as `spec.resources`: those that the configuration reads, and those
//! that people set by custom although their release registers what the backend lists.

use serde_json::{Map, Value, json};

use super::uses::{BaseConfiguration, VariableUse};
use crate::server::substitution::EffectiveId;

/// What a custom variable asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Custom {
    /// A model of whichever inference provider there is.
    Model,
    /// A model of the provider whose id is meant.
    ModelOf(String),
}

/// Whether a variable that the configuration does not read is known to name a model.
pub(super) fn custom(name: &str, base: &BaseConfiguration<'_>) -> Option<Custom> {
    if name == "INFERENCE_MODEL" {
        return Some(Custom::Model);
    }
    let of = name.strip_suffix("_INFERENCE_MODEL")?;
    let provider = base
        .providers
        .iter()
        .filter(|provider| provider.api == "inference")
        .find(|provider| in_capitals(&provider.id) == of)?;
    Some(Custom::ModelOf(provider.id.clone()))
}

fn in_capitals(id: &str) -> String {
    id.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
        .collect()
}

/// The provider of a model that the configuration registers, if the model is a plain one.
pub(super) fn provider_of_model(
    base: &BaseConfiguration<'_>,
    index: usize,
) -> Result<String, String> {
    let entry = &base.registered("models")[index];
    let plain = entry.as_object().is_some_and(|fields| {
        fields.keys().all(|key| matches!(key.as_str(), "model_id" | "provider_id" | "model_type"))
    });
    let kind = entry.get("model_type").and_then(Value::as_str).unwrap_or("llm");
    if !plain || kind != "llm" {
        return Err("the configuration says more of its model than a field can".to_owned());
    }
    id(entry).ok_or_else(|| "its model has no provider".to_owned())
}

/// The entry of `resources.shields` for a shield that the configuration registers.
pub(super) fn shield(
    base: &BaseConfiguration<'_>,
    index: usize,
    model: &str,
) -> Result<Value, String> {
    let entry = &base.registered("shields")[index];
    let name = entry.get("shield_id").and_then(Value::as_str).filter(|name| !name.contains('$'));
    match (name, id(entry), entry.as_object()) {
        (Some(name), Some(provider), Some(fields)) if fields.len() == 3 => {
            Ok(json!({"name": name, "provider": provider, "model": model}))
        }
        _ => Err("the configuration says more of its shield than a field can".to_owned()),
    }
}

/// The index of the shield that a variable switches on.
pub(super) fn shield_index(places: &[VariableUse]) -> Option<usize> {
    places.iter().find_map(|place| match place {
        VariableUse::Shield(index) => Some(*index),
        _ => None,
    })
}

fn id(entry: &Value) -> Option<String> {
    let written = entry.get("provider_id")?.as_str()?;
    EffectiveId::parse(written, "").map(|id| id.id)
}

/// A model's entry; the provider is named where it is not the only one.
pub(super) fn model(name: &str, provider: Option<&str>) -> Value {
    let mut entry = Map::new();
    entry.insert("name".to_owned(), json!(name));
    if let Some(provider) = provider {
        entry.insert("provider".to_owned(), json!(provider));
    }
    Value::Object(entry)
}
