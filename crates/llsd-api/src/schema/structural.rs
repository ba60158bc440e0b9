//! Turns a described schema into what the API server takes, a structural schema.
//!
//! A field with no `type` may still carry `properties` and `items`; the API server then validates,
//! defaults and documents both shapes. Every keyword binds only its own JSON type, so the shapes
//! stand side by side in one schema. What such a field must refuse and a schema can only say
//! unreadably (numbers, unknown fields) is left to the admission policy.

use serde_json::{Map, Value, json};

use super::{ANYTHING, ENTRY, SHAPE, Shape};
use crate::rules::{ONE_SECRET_SPELLING, validations};

/// Matches no string, and says so readably in the API server's message.
fn not_a_string(expected: &str) -> String {
    format!(r"^must be {expected}[^\s\S]$")
}

/// The structural schema for a described one.
pub fn structural(described: &Value) -> Value {
    expand(described, false)
}

/// `untyped`: whether some field above has no type, so that CEL never runs here.
fn expand(node: &Value, untyped: bool) -> Value {
    let Value::Object(object) = node else {
        return node.clone();
    };
    match object.get(SHAPE).and_then(|shape| serde_json::from_value(shape.clone()).ok()) {
        Some(shape) => expand_shape(object, shape, untyped),
        None => Value::Object(expand_children(object, untyped)),
    }
}

fn expand_children(object: &Map<String, Value>, untyped: bool) -> Map<String, Value> {
    let mut out = object.clone();
    for keyword in ["items", "additionalProperties"] {
        if let Some(child) = object.get(keyword) {
            out[keyword] = expand(child, untyped);
        }
    }
    if let Some(Value::Object(properties)) = object.get("properties") {
        out["properties"] = properties
            .iter()
            .map(|(name, property)| (name.clone(), expand(property, untyped)))
            .collect();
    }
    out
}

fn expand_shape(object: &Map<String, Value>, shape: Shape, untyped: bool) -> Value {
    let mut out: Map<String, Value> = object
        .iter()
        .filter(|(keyword, _)| !keyword.starts_with("x-llsd-"))
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect();
    let entry = &object[ENTRY];
    match shape {
        Shape::Secret => {
            out.extend(secret(entry));
            out.insert("type".into(), "object".into());
            if untyped {
                out.insert("oneOf".into(), secret_spellings());
            } else {
                out.insert("x-kubernetes-validations".into(), validations(&[ONE_SECRET_SPELLING]));
            }
        }
        Shape::StringOrSecret => {
            out.extend(secret(entry));
            // `oneOf` would count a string as both spellings, since `required` never binds it.
            out.insert("anyOf".into(), secret_spellings());
            untype(&mut out);
            out.insert("minLength".into(), 1.into());
        }
        Shape::ObjectOrList => {
            let entry = expand(entry, true);
            take_fields(&mut out, &entry);
            // Documented once, in the object form: the CRD must stay well below etcd's limit.
            out.insert("items".into(), undescribed(entry));
            untype(&mut out);
            out.insert("pattern".into(), not_a_string(shape.expects()).into());
        }
        Shape::StringOrObject => {
            take_fields(&mut out, &expand(entry, true));
            untype(&mut out);
            out.insert("minLength".into(), 1.into());
        }
        Shape::StringOrList => {
            for keyword in ["minLength", "maxLength", "pattern"] {
                if let Some(bound) = entry.get(keyword) {
                    out.insert(keyword.into(), bound.clone());
                }
            }
            out.insert("items".into(), entry.clone());
            out.insert("minItems".into(), 1.into());
            untype(&mut out);
        }
        Shape::BoolOrObject => {
            take_fields(&mut out, &expand(entry, true));
            untype(&mut out);
            out.insert("pattern".into(), not_a_string(shape.expects()).into());
        }
    }
    Value::Object(out)
}

fn untype(out: &mut Map<String, Value>) {
    out.insert(ANYTHING.into(), true.into());
}

fn take_fields(out: &mut Map<String, Value>, entry: &Value) {
    for keyword in ["properties", "required", "anyOf", "description"] {
        if let Some(value) = entry.get(keyword) {
            out.entry(keyword).or_insert_with(|| value.clone());
        }
    }
}

/// Keeps the descriptions below the first property of an object and drops them below the others,
/// for objects whose properties all have the same schema.
pub fn document_first_only(object: &mut Value) {
    let Some(Value::Object(properties)) = object.get_mut("properties") else {
        return;
    };
    for property in properties.values_mut().skip(1) {
        let description = property.get("description").cloned();
        *property = undescribed(property.take());
        if let Some(description) = description {
            property["description"] = description;
        }
    }
}

fn undescribed(mut schema: Value) -> Value {
    if let Value::Object(object) = &mut schema {
        object.remove("description");
        for keyword in ["items", "additionalProperties"] {
            if let Some(child) = object.get_mut(keyword) {
                *child = undescribed(child.take());
            }
        }
        if let Some(Value::Object(properties)) = object.get_mut("properties") {
            for property in properties.values_mut() {
                *property = undescribed(property.take());
            }
        }
    }
    schema
}

/// Both spellings side by side; the field's own description speaks for them.
fn secret(key: &Value) -> Map<String, Value> {
    let nested = undescribed(key.clone());
    let mut properties = nested["properties"].as_object().cloned().unwrap_or_default();
    properties.insert("secretKeyRef".into(), nested);
    let mut out = Map::new();
    out.insert("properties".into(), properties.into());
    out
}

/// Counting the fields is how a schema says "and nothing else" without `not`, which would also
/// refuse the other shapes of the field.
fn secret_spellings() -> Value {
    json!([
        {"required": ["secretKeyRef"], "maxProperties": 1},
        {"required": ["name", "key"], "maxProperties": 2},
    ])
}
