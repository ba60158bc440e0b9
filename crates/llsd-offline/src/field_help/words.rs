//! A schema in words: what a field takes, and what it is for.

use std::fmt::Write;

use llsd_api::schema::{ANYTHING, ENTRY};
use serde_json::Value;

use super::walk::shape;

/// `string`, `list of objects`, `true, false or an object`, with bounds.
pub(super) fn kind(schema: &Value) -> String {
    if let Some(shape) = shape(schema) {
        return shape.expects().to_owned();
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return "integer or string".to_owned();
    }
    let named = schema["type"].as_str();
    let mut text = match (named, schema.get("items"), schema.get("additionalProperties")) {
        (Some("array"), Some(items), _) => format!("list of {}", plural(&kind(items))),
        (_, _, Some(values)) if values.is_object() => format!("map of {}", plural(&kind(values))),
        (Some(named), ..) => named.to_owned(),
        (None, ..) if schema[ANYTHING] == true => "anything".to_owned(),
        (None, ..) => "object".to_owned(),
    };
    match (schema["minimum"].as_i64(), schema["maximum"].as_i64()) {
        (Some(least), Some(most)) => _ = write!(text, ", {least} to {most}"),
        (Some(least), None) => _ = write!(text, ", {least} or more"),
        (None, Some(most)) => _ = write!(text, ", up to {most}"),
        (None, None) => {}
    }
    text
}

fn plural(kind: &str) -> String {
    match kind {
        "string" | "object" | "integer" | "boolean" | "number" => format!("{kind}s"),
        other => other.to_owned(),
    }
}

/// The description in one line. Fields of Kubernetes' own types have none here.
pub(super) fn description(schema: &Value) -> String {
    let of = |schema: &Value| schema["description"].as_str().map(str::to_owned);
    let found = of(schema).or_else(|| of(&schema[ENTRY])).or_else(|| of(&schema["items"]));
    found.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}
