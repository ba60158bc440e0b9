//! Every field of the resource, with type, bounds and meaning, out of the schema that the API server
//! has. Parts that are Kubernetes' own, such as tolerations, are named and not repeated.

use std::fmt::Write;

use llsd_api::crd::manifest;
use serde_json::Value;

use super::page::{GENERATED, cell};

pub fn fields() -> String {
    let schema = schema();
    let mut page = format!(
        "# Fields\n\n{GENERATED}\n\nEvery field of `llamastack.io/v1alpha2`, as `kubectl explain llsd.spec` has it. A field in \
         brackets, `[]`, is one item of a list. Where a type is Kubernetes' own, `kubectl explain` of that type \
         has its fields. [Configuration](../configuration.md#the-fields) says what each one does.\n"
    );
    for part in ["spec", "status"] {
        for (name, field) in entries(&schema["properties"][part]) {
            let path = format!("{part}.{name}");
            let _ = write!(page, "\n## `{path}`\n\n{}\n", sentence(field));
            let mut rows = String::new();
            below(&path, field, &mut rows);
            if !rows.is_empty() {
                let _ = write!(page, "\n| field | type | meaning |\n|---|---|---|\n{rows}");
            }
        }
    }
    page
}

/// The schema of v1alpha2 as the API server has it.
fn schema() -> Value {
    let mut definition = manifest();
    let versions = definition.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    let mut versions = versions.into_iter().flatten();
    let version = versions.find(|version| version["name"] == "v1alpha2");
    version.map(|version| version["schema"]["openAPIV3Schema"].take()).unwrap_or_default()
}

fn entries(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}

/// The fields below one, and those below them. Siblings of the same form are described once.
fn below(path: &str, schema: &Value, rows: &mut String) {
    let listed = schema.get("properties").is_none() && schema.get("items").is_some();
    let path = if listed { format!("{path}[]") } else { path.to_owned() };
    let schema = of_one(schema);
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut seen: Vec<(&Value, String)> = Vec::new();
    for (name, field) in entries(schema).filter(|_| is_ours(schema)) {
        let own = format!("{path}.{name}");
        let form = of_one(field).get("properties");
        let like = form.and_then(|form| seen.iter().find(|(other, _)| *other == form));
        let mut meaning = cell(&sentence(field));
        if let Some((_, like)) = like.filter(|_| !is_secret(field) && is_ours(field)) {
            let _ = write!(meaning, " Fields as those of `{like}`.");
        }
        let must = if required.contains(&name.as_str()) { ", required" } else { "" };
        let _ = writeln!(rows, "| `{own}` | {}{must} | {meaning} |", kind(field));
        if like.is_none() && !is_secret(field) {
            below(&own, field, rows);
        }
        if let Some(form) = form {
            seen.push((form, own));
        }
    }
}

/// The schema of one item, where there is a list and no other way to write it.
fn of_one(schema: &Value) -> &Value {
    let items = schema.get("items").filter(|_| schema.get("properties").is_none());
    items.unwrap_or(schema)
}

/// Whether the fields are described, which those of Kubernetes' own types are not.
fn is_ours(schema: &Value) -> bool {
    entries(of_one(schema)).any(|(_, field)| field.get("description").is_some())
}

fn is_secret(schema: &Value) -> bool {
    schema.pointer("/properties/secretKeyRef").is_some()
}

fn sentence(schema: &Value) -> String {
    let text = |schema: &Value| schema["description"].as_str().map(str::to_owned);
    text(schema).or_else(|| text(&schema["items"])).unwrap_or_default()
}

fn kind(schema: &Value) -> String {
    let free = schema["x-kubernetes-preserve-unknown-fields"] == true;
    let named = |schema: &Value| schema["type"].as_str().unwrap_or("any").to_owned();
    let mut text = if is_secret(schema) {
        if free { "string or secret reference" } else { "secret reference" }.to_owned()
    } else if let Some(items) = schema.get("items").filter(|_| schema["type"] == "array") {
        format!("list of {}", kind(items))
    } else if schema.get("type").is_none() && schema.get("properties").is_some() {
        // Fields of two shapes have no type of their own.
        let has = |key| schema.get(key).is_some();
        match (has("maxItems"), has("minLength")) {
            (true, _) => "object or list of objects",
            (false, true) => "string or object",
            (false, false) => "boolean or object",
        }
        .to_owned()
    } else if let Some(values) =
        schema.get("additionalProperties").filter(|value| value.is_object())
    {
        format!("map of {}", kind(values))
    } else {
        named(schema)
    };
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> =
            values.iter().map(|value| format!("`{}`", plain(value))).collect();
        text = values.join(", ");
    }
    match (schema["minimum"].as_i64(), schema["maximum"].as_i64()) {
        (Some(least), Some(most)) => _ = write!(text, ", {least} to {most}"),
        (Some(least), None) => _ = write!(text, ", {least} or more"),
        (None, Some(most)) => _ = write!(text, ", up to {most}"),
        (None, None) => {}
    }
    if let Some(default) = schema.get("default").filter(|value| !value.is_object()) {
        let _ = write!(text, ", default `{}`", plain(default));
    }
    text
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
