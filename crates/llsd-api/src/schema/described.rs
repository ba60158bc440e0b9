//! Makes the described schema of a type: one tree without references, without what only JSON
//! Schema knows, and without the prose of embedded Kubernetes types.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::{ANYTHING, ENTRY, SHAPE};

use crate::patterns::QUANTITY;

/// Names under which the types of Kubernetes itself are defined.
const EMBEDDED: &str = "io.k8s.";
/// Formats that the API server knows; it warns about others.
const FORMATS: [&str; 5] = ["int32", "int64", "float", "double", "date-time"];

/// The described schema of `T`.
pub fn described<T: JsonSchema>() -> Value {
    let mut root =
        SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value();
    let definitions = match root.get_mut("$defs").map(Value::take) {
        Some(Value::Object(definitions)) => definitions,
        _ => Map::new(),
    };
    resolve(root, &definitions, false)
}

/// Resolves references below `node`. Within an `embedded` type descriptions are dropped: they
/// would add 100 KB a version, and `kubectl explain pod` has them.
fn resolve(node: Value, definitions: &Map<String, Value>, embedded: bool) -> Value {
    // `true` is JSON Schema's word for anything.
    let Value::Object(mut object) = node else {
        return json!({ANYTHING: true});
    };
    if let Some(Value::String(reference)) = object.remove("$ref") {
        let name = reference.trim_start_matches("#/$defs/");
        let below = embedded || name.starts_with(EMBEDDED);
        let mut target = resolve(definitions[name].clone(), definitions, below);
        if name.ends_with(".Quantity") {
            target["pattern"] = QUANTITY.into();
        }
        return overlay(target, object, embedded);
    }
    drop_null(&mut object);
    if let Some(only) = single_alternative(&mut object) {
        return overlay(resolve(only, definitions, embedded), object, embedded);
    }
    for keyword in ["$schema", "$defs", "title", "nullable", "deprecated"] {
        object.remove(keyword);
    }
    if embedded {
        object.remove("description");
    }
    if object.get("format").and_then(Value::as_str).is_some_and(|format| !FORMATS.contains(&format))
    {
        object.remove("format");
    }
    resolve_children(&mut object, definitions, embedded);
    if !["type", "properties", SHAPE, "x-kubernetes-int-or-string"]
        .iter()
        .any(|keyword| object.contains_key(*keyword))
    {
        object.insert(ANYTHING.into(), true.into());
    }
    Value::Object(object)
}

fn resolve_children(
    object: &mut Map<String, Value>,
    definitions: &Map<String, Value>,
    embedded: bool,
) {
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        for property in properties.values_mut() {
            *property = resolve(property.take(), definitions, embedded);
        }
    }
    for keyword in ["items", ENTRY] {
        if let Some(child) = object.get_mut(keyword) {
            *child = resolve(child.take(), definitions, embedded);
        }
    }
    match object.remove("additionalProperties") {
        // `false` is `deny_unknown_fields`; the API server refuses unknown fields anyway.
        None | Some(Value::Bool(false)) => {}
        Some(Value::Bool(true)) => {
            object.insert(ANYTHING.into(), true.into());
        }
        Some(values) => {
            object.insert("additionalProperties".into(), resolve(values, definitions, embedded));
        }
    }
}

/// Keywords beside a reference win over those behind it; they are the field's own.
fn overlay(mut target: Value, mut beside: Map<String, Value>, embedded: bool) -> Value {
    if embedded {
        beside.remove("description");
    }
    if let Value::Object(target) = &mut target {
        target.extend(beside);
    }
    target
}

/// `Option<T>` is `T` or null to JSON Schema; to the API server an absent field is enough.
fn drop_null(object: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = object.get("type") {
        let first = types.iter().find(|name| *name != "null").cloned();
        object.insert("type".into(), first.unwrap_or(Value::Null));
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if object.get("default").is_some_and(Value::is_null) {
        object.remove("default");
    }
}

/// The one alternative besides null of an `anyOf`, if that is all it says.
fn single_alternative(object: &mut Map<String, Value>) -> Option<Value> {
    let Some(Value::Array(alternatives)) = object.get("anyOf") else {
        return None;
    };
    let mut rest: Vec<&Value> = alternatives.iter().filter(|one| one["type"] != "null").collect();
    let only = rest.pop().filter(|_| rest.is_empty())?.clone();
    object.remove("anyOf");
    Some(only)
}
