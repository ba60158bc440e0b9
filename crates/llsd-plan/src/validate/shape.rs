//! Walks a value along the described schema: types, bounds, required and unknown fields. This is
//! by hand because no JSON Schema crate speaks the API server's dialect (`null` as absent, list
//! keys, fields of two shapes), and because every finding needs a remedy.

use std::collections::HashSet;

use llsd_api::rules::{ONE_SECRET_SPELLING, UNKNOWN_FIELDS};
use llsd_api::schema::{ENTRY, SHAPE, Shape};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::value::{
    article, broken, check_least, check_number, check_string, is_integer, misshapen, wrong_type,
};
use crate::problems::suggest::did_you_mean;
use crate::problems::{FieldPath, Findings, Reason};

/// Checks `value` against the described `schema`.
pub(super) fn check(schema: &Value, value: &Value, path: &FieldPath, findings: &mut Findings) {
    if let Some(shape) = schema.get(SHAPE) {
        let shape = Shape::deserialize(shape).expect("a described schema names known shapes");
        return check_shape(shape, schema, value, path, findings);
    }
    match (schema["type"].as_str(), value) {
        (Some("object"), Value::Object(object)) => check_object(schema, object, path, findings),
        (Some("array"), Value::Array(items)) => check_list(schema, items, path, findings),
        (Some("string"), Value::String(text)) => check_string(schema, text, path, findings),
        (Some("boolean"), Value::Bool(_)) => {}
        (Some("integer"), Value::Number(_)) if is_integer(value) => {
            check_number(schema, value, path, findings);
        }
        (Some("number"), Value::Number(_)) => check_number(schema, value, path, findings),
        (Some(expected), _) => wrong_type(article(expected), value, path, findings),
        (None, _) if schema["x-kubernetes-int-or-string"] == true => match value {
            Value::String(text) => check_string(schema, text, path, findings),
            value if is_integer(value) => {}
            _ => wrong_type("a whole number or a string", value, path, findings),
        },
        (None, _) => {}
    }
}

fn check_shape(
    shape: Shape,
    schema: &Value,
    value: &Value,
    path: &FieldPath,
    findings: &mut Findings,
) {
    let entry = &schema[ENTRY];
    match (shape, value) {
        (
            Shape::ObjectOrList | Shape::StringOrObject | Shape::BoolOrObject,
            Value::Object(object),
        ) => {
            check_object(entry, object, path, findings);
        }
        (Shape::ObjectOrList, Value::Array(items)) => {
            check_least(schema, "Items", items.len(), "items", path, findings);
            for (index, item) in items.iter().enumerate() {
                check(entry, item, &path.index(index), findings);
            }
        }
        (Shape::StringOrObject | Shape::StringOrSecret, Value::String(text)) => {
            if text.is_empty() {
                empty("write a value or remove it", path, findings);
            }
        }
        (Shape::BoolOrObject, Value::Bool(_)) => {}
        (Shape::StringOrList, Value::String(text)) => check_string(entry, text, path, findings),
        (Shape::StringOrList, Value::Array(items)) => {
            if items.is_empty() {
                empty("write a value or remove the field", path, findings);
            }
            for (index, item) in items.iter().enumerate() {
                check(entry, item, &path.index(index), findings);
            }
        }
        (Shape::Secret | Shape::StringOrSecret, Value::Object(object)) => {
            check_secret(entry, object, path, findings);
        }
        (shape, _) => misshapen(shape, value, path, findings),
    }
}

fn empty(remedy: &str, path: &FieldPath, findings: &mut Findings) {
    findings.problem(path, Reason::Invalid, "must not be empty", remedy);
}

/// The two spellings exclude each other; what stands in the chosen one is checked field by field.
fn check_secret(
    key: &Value,
    object: &Map<String, Value>,
    path: &FieldPath,
    findings: &mut Findings,
) {
    let has = |field: &str| object.get(field).is_some_and(|value| !value.is_null());
    let well_spelt =
        if has("secretKeyRef") { !has("name") && !has("key") } else { has("name") && has("key") };
    if !well_spelt {
        broken(&ONE_SECRET_SPELLING, path, Reason::Invalid, findings);
    }
    for (field, value) in object.iter().filter(|(_, value)| !value.is_null()) {
        let path = path.key(field);
        match field.as_str() {
            "secretKeyRef" => check(key, value, &path, findings),
            "name" | "key" => check(&key["properties"][field], value, &path, findings),
            _ => unknown_field(&path, field, ["secretKeyRef", "name", "key"], findings),
        }
    }
}

fn check_object(
    schema: &Value,
    object: &Map<String, Value>,
    path: &FieldPath,
    findings: &mut Findings,
) {
    let properties = schema["properties"].as_object();
    for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if object.get(required).is_none_or(Value::is_null) {
            findings.problem(
                &path.key(required),
                Reason::Required,
                "is required",
                format!("add {required}"),
            );
        }
    }
    check_least(schema, "Properties", object.len(), "fields", path, findings);
    let open = schema["x-kubernetes-preserve-unknown-fields"] == true;
    for (field, value) in object {
        let path = path.key(field);
        match (properties.and_then(|known| known.get(field)), schema.get("additionalProperties")) {
            // The API server drops such nulls before it validates.
            (Some(_), _) | (None, Some(_)) if value.is_null() => {}
            (Some(property), _) => check(property, value, &path, findings),
            (None, Some(values)) => check(values, value, &path, findings),
            (None, None) if open => {}
            (None, None) => {
                unknown_field(
                    &path,
                    field,
                    properties.into_iter().flat_map(|p| p.keys().map(String::as_str)),
                    findings,
                );
            }
        }
    }
}

fn check_list(schema: &Value, items: &[Value], path: &FieldPath, findings: &mut Findings) {
    check_least(schema, "Items", items.len(), "items", path, findings);
    for (index, item) in items.iter().enumerate() {
        check(&schema["items"], item, &path.index(index), findings);
    }
    let keys: Vec<&str> = schema["x-kubernetes-list-map-keys"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let identity = |item: &Value| match schema["x-kubernetes-list-type"].as_str() {
        Some("set") => Some(item.clone()),
        Some("map") => Some(keys.iter().map(|key| item[key].clone()).collect()),
        _ => None,
    };
    let mut seen = HashSet::new();
    for (index, item) in items.iter().enumerate() {
        if identity(item).is_some_and(|identity| !seen.insert(identity.to_string())) {
            let named = if keys.is_empty() { "this value".to_owned() } else { keys.join(" and ") };
            findings.problem(
                &path.index(index),
                Reason::Duplicate,
                format!("repeats the {named} of an earlier item"),
                "remove one of the two",
            );
        }
    }
}

pub(super) fn unknown_field<'a>(
    path: &FieldPath,
    field: &str,
    known: impl IntoIterator<Item = &'a str>,
    findings: &mut Findings,
) {
    let remedy = did_you_mean(field, known, UNKNOWN_FIELDS.remedy);
    findings.problem(path, Reason::UnknownField, UNKNOWN_FIELDS.message, remedy);
}
