//! The resource as a JSON Schema (draft 7) for editors: made from the same description as the resource
//! definition, so that it knows every field and its words. A field that takes two shapes is an alternative of
//! both; a field that the API server does not know is refused, as it refuses it. Rules that look at several
//! fields are left to `llsd validate`.

use llsd_api::conversion::Version;
use llsd_api::crd::{described_v1alpha1, described_v1alpha2};
use llsd_api::schema::{ANYTHING, ENTRY, SHAPE, Shape};
use llsd_api::{KIND, rules::RESOURCE_NAME};
use llsd_plan::validate::METADATA;
use serde_json::{Map, Value, json};

/// What JSON Schema knows and editors make use of.
const KEPT: [&str; 15] = [
    "type",
    "description",
    "default",
    "enum",
    "format",
    "maximum",
    "minimum",
    "maxItems",
    "minItems",
    "maxLength",
    "minLength",
    "maxProperties",
    "minProperties",
    "pattern",
    "required",
];

/// As the rule of the definition has it, which no editor reads.
const NAME: (&str, u8) = ("^[a-z]([-a-z0-9]*[a-z0-9])?$", 55);

/// The schema of a whole resource.
pub fn editor_schema(version: Version) -> Value {
    let described = match version {
        Version::V1Alpha1 => described_v1alpha1(),
        Version::V1Alpha2 => described_v1alpha2(),
    };
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": format!("{KIND} ({})", version.api_version()),
        "description": described["description"],
        "type": "object",
        "required": ["apiVersion", "kind", "metadata", "spec"],
        "properties": {
            "apiVersion": {"const": version.api_version()},
            "kind": {"const": KIND},
            "metadata": metadata(),
            "spec": for_editors(&described["properties"]["spec"]),
            "status": {"description": "Written by the operator.", "type": "object"},
        },
        "additionalProperties": false,
    })
}

fn metadata() -> Value {
    let mut fields: Map<String, Value> =
        METADATA.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
    let strings = |description: &str| json!({"description": description, "type": "object", "additionalProperties": {"type": "string"}});
    fields["name"] = json!({
        "description": format!("What the server and its objects are called; {}.", RESOURCE_NAME.remedy),
        "type": "string",
        "pattern": NAME.0,
        "maxLength": NAME.1,
    });
    fields["namespace"] = json!({
        "description": "Where the server runs. Default: the namespace that kubectl uses.",
        "type": "string",
    });
    fields["labels"] = strings("Labels of the resource.");
    fields["annotations"] = strings("Annotations of the resource; some are for the operator.");
    json!({"type": "object", "properties": fields, "additionalProperties": false})
}

fn for_editors(described: &Value) -> Value {
    let shape = described.get(SHAPE).cloned();
    match shape.and_then(|shape| serde_json::from_value(shape).ok()) {
        Some(shape) => alternatives(described, shape),
        None => single(described),
    }
}

fn alternatives(described: &Value, shape: Shape) -> Value {
    let entry = for_editors(&described[ENTRY]);
    let text = || json!({"type": "string", "minLength": 1});
    let list = || json!({"type": "array", "items": entry});
    let mut one_of = match shape {
        Shape::ObjectOrList | Shape::StringOrList => vec![entry.clone(), list()],
        Shape::StringOrObject => vec![text(), entry.clone()],
        Shape::BoolOrObject => vec![json!({"type": "boolean"}), entry.clone()],
        Shape::Secret => secret(&entry),
        Shape::StringOrSecret => vec![text()].into_iter().chain(secret(&entry)).collect(),
    };
    if let (Some(most), Some(list)) = (described.get("maxItems"), one_of.last_mut()) {
        list["maxItems"] = most.clone();
    }
    if shape == Shape::StringOrList
        && let Some(list) = one_of.last_mut()
    {
        list["minItems"] = 1.into();
    }
    let mut schema = json!({"anyOf": one_of});
    let own = described.get("description").or_else(|| described[ENTRY].get("description"));
    if let Some(description) = own {
        schema["description"] = description.clone();
    }
    schema
}

/// Both spellings of a reference.
fn secret(key: &Value) -> Vec<Value> {
    let nested = json!({
        "type": "object",
        "required": ["secretKeyRef"],
        "properties": {"secretKeyRef": key},
        "additionalProperties": false,
    });
    vec![nested, key.clone()]
}

fn single(described: &Value) -> Value {
    let mut schema = Map::new();
    for keyword in KEPT {
        if let Some(value) = described.get(keyword) {
            schema.insert(keyword.to_owned(), value.clone());
        }
    }
    if described["x-kubernetes-int-or-string"] == true {
        schema.insert("type".to_owned(), json!(["integer", "string"]));
    }
    if let Some(items) = described.get("items") {
        schema.insert("items".to_owned(), for_editors(items));
    }
    let is_open = described[ANYTHING] == true;
    if let Some(Value::Object(properties)) = described.get("properties") {
        let properties = properties.iter();
        let properties: Map<String, Value> =
            properties.map(|(name, field)| (name.clone(), for_editors(field))).collect();
        schema.insert("properties".to_owned(), properties.into());
        if !is_open {
            schema.insert("additionalProperties".to_owned(), false.into());
        }
    }
    if let Some(values) = described.get("additionalProperties") {
        schema.insert("additionalProperties".to_owned(), for_editors(values));
    }
    schema.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at<'a>(schema: &'a Value, pointer: &str) -> &'a Value {
        schema.pointer(pointer).unwrap_or_else(|| panic!("{pointer}: nothing"))
    }

    #[test]
    fn both_shapes_of_a_field_are_alternatives_and_neither_takes_a_stranger() {
        let schema = editor_schema(Version::V1Alpha2);
        let inference = at(&schema, "/properties/spec/properties/providers/properties/inference");
        let [one, many] = [at(inference, "/anyOf/0"), at(inference, "/anyOf/1/items")];
        assert_eq!(one, many);
        assert_eq!(one["additionalProperties"], false);
        // An entry with `enabled: false` takes a provider away, and needs no type.
        assert_eq!(one["required"], Value::Null);
        assert!(inference["description"].as_str().unwrap().starts_with("Model servers"));
        let key = at(one, "/properties/apiKey/anyOf");
        assert_eq!(key[0]["required"], json!(["secretKeyRef"]));
        assert_eq!(one["properties"]["settings"].get("additionalProperties"), None, "{one}");
    }

    #[test]
    fn a_name_is_judged_by_the_rule_of_the_definition() {
        let (pattern, longest) = NAME;
        assert!(RESOURCE_NAME.cel.contains(pattern));
        assert!(RESOURCE_NAME.cel.contains(&format!("<= {longest}")));
    }

    #[test]
    fn it_holds_no_keyword_of_kubernetes() {
        for version in Version::ALL {
            let text = editor_schema(version).to_string();
            assert!(!text.contains("x-kubernetes") && !text.contains("x-llsd"), "{version:?}");
        }
    }
}
