//! The fields of a v1alpha2 resource that name a Secret, found in its schema.

use llsd_api::crd::described_v1alpha2;
use llsd_api::schema::{ENTRY, SHAPE, Shape};
use serde_json::{Map, Value, json};

/// How the names of fields end that name a Secret. `secretFile` of a volume is a path.
const ENDINGS: [&str; 5] = ["secret", "secrets", "secretname", "secretref", "secretkeyref"];

/// A field that names a Secret.
#[derive(Clone, Debug)]
pub struct SecretField {
    /// The fields that lead to it from `spec`. `None` is a step into a list, a map or another shape of the
    /// field before it.
    pub path: Vec<Option<String>>,
    /// A spec that names a Secret in this field.
    pub spec: Value,
}

/// Every field that names a Secret. The specs name this one.
pub fn secret_fields(secret: &str) -> Vec<SecretField> {
    let described = described_v1alpha2();
    let mut fields = below(&described["properties"]["spec"], "", secret);
    for field in &mut fields {
        field.spec["distribution"] = json!({"name": "starter"});
    }
    fields
}

/// The fields at and below a node of the schema, which stands in a field of this name.
fn below(node: &Value, name: &str, secret: &str) -> Vec<SecretField> {
    if !node.is_object() {
        return Vec::new();
    }
    if let Some(spec) = naming(node, name, secret) {
        return vec![SecretField { path: Vec::new(), spec }];
    }
    let mut found = Vec::new();
    let mut add = |step: Option<&str>, fields: Vec<SecretField>, whole: &dyn Fn(Value) -> Value| {
        for SecretField { mut path, spec } in fields {
            path.insert(0, step.map(str::to_owned));
            found.push(SecretField { path, spec: whole(spec) });
        }
    };
    for (field, child) in node["properties"].as_object().into_iter().flatten() {
        let fields = below(child, field, secret);
        add(Some(field.as_str()), fields, &|value| with(node, field, value));
    }
    add(None, below(&node["items"], name, secret), &|item| json!([item]));
    add(None, below(&node["additionalProperties"], name, secret), &|value| json!({"x": value}));
    add(None, below(&node[ENTRY], name, secret), &|entry| entry);
    found
}

/// A value that names a Secret, where the node is a field that does.
fn naming(node: &Value, name: &str, secret: &str) -> Option<Value> {
    let shape: Option<Shape> =
        node.get(SHAPE).and_then(|shape| serde_json::from_value(shape.clone()).ok());
    if matches!(shape, Some(Shape::Secret | Shape::StringOrSecret)) {
        return Some(json!({"name": secret, "key": "key"}));
    }
    let name = name.to_lowercase();
    if !ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        return None;
    }
    match node["type"].as_str() {
        Some("string") => Some(json!(secret)),
        Some("object") if node["properties"]["name"].is_object() => {
            Some(with(node, "name", json!(secret)))
        }
        _ => None,
    }
}

/// An object with this field and those that it requires.
fn with(node: &Value, field: &str, value: Value) -> Value {
    let mut object = required(node);
    object.insert(field.to_owned(), value);
    Value::Object(object)
}

/// The fields that an object requires. It is switched on: what is switched off names nothing.
fn required(node: &Value) -> Map<String, Value> {
    let properties = &node["properties"];
    let names = node["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let switch = properties.get("enabled").map(|_| "enabled");
    names.chain(switch).map(|name| (name.to_owned(), sample(&properties[name]))).collect()
}

fn sample(node: &Value) -> Value {
    if let Some(first) = node["enum"].get(0) {
        return first.clone();
    }
    match node["type"].as_str() {
        Some("boolean") => json!(true),
        Some("integer" | "number") => json!(1),
        Some("array") => json!([]),
        Some("object") => Value::Object(required(node)),
        _ => json!("x"),
    }
}
