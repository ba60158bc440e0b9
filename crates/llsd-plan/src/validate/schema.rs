//! What validation keeps of the schemas: the spec of each version, without the words for people,
//! made when a resource of that version is first validated.

use std::sync::LazyLock;

use llsd_api::crd::{described_v1alpha1, described_v1alpha2};
use serde_json::Value;

pub(super) static V1ALPHA1_SPEC: LazyLock<Value> = LazyLock::new(|| spec(described_v1alpha1()));
pub(super) static V1ALPHA2_SPEC: LazyLock<Value> = LazyLock::new(|| spec(described_v1alpha2()));

fn spec(mut resource: Value) -> Value {
    kept(resource["properties"]["spec"].take())
}

fn kept(schema: Value) -> Value {
    match schema {
        Value::Object(fields) => {
            // A field of that name is an object here.
            let fields = fields
                .into_iter()
                .filter(|(key, value)| !(key == "description" && value.is_string()));
            let fields: Vec<_> = fields.map(|(key, value)| (key, kept(value))).collect();
            // From a known number of fields comes a map without room for more; most have one or two.
            fields.into_iter().collect()
        }
        Value::Array(items) => items.into_iter().map(kept).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn a_field_named_description_stays() {
        let field = json!({"type": "string", "description": "For people."});
        let spec = json!({"description": "Too.", "properties": {"description": field}});
        let kept = super::spec(json!({"properties": {"spec": spec}}));
        assert_eq!(kept, json!({"properties": {"description": {"type": "string"}}}));
    }
}
