//! The ids of providers as a resource gives them, before it is planned.

use std::collections::BTreeSet;

use llsd_api::provider_id::short_name;
use serde_json::{Map, Value};

/// The id that a provider of the resource has: its own, else the short name of its type.
pub(super) fn provider_id(provider: &Map<String, Value>) -> Option<String> {
    let text = |field| provider.get(field).and_then(Value::as_str);
    text("id").or_else(|| text("provider").map(short_name)).map(str::to_owned)
}

/// The ids of the providers that the resource lists or refers to, so that they are meant to be there.
pub(super) fn named_providers(object: &Value) -> BTreeSet<String> {
    let section = |name: &str| {
        let section = object.pointer("/spec").and_then(|spec| spec.get(name));
        section.and_then(Value::as_object).into_iter().flat_map(Map::values)
    };
    let providers = section("providers").flat_map(|entries| match entries {
        Value::Array(list) => list.as_slice(),
        one => std::slice::from_ref(one),
    });
    let mut ids: BTreeSet<String> = providers
        .filter_map(Value::as_object)
        .filter(|provider| provider.get("enabled") != Some(&Value::Bool(false)))
        .filter_map(provider_id)
        .collect();
    let entries = section("resources").filter_map(Value::as_array).flatten();
    ids.extend(entries.filter_map(|entry| entry.get("provider")?.as_str().map(str::to_owned)));
    ids
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn providers_that_the_resource_lists_or_refers_to_are_meant() {
        let object = json!({"spec": {
            "providers": {
                "inference": [{"provider": "remote::vllm"}, {"id": "off", "enabled": false}],
                "files": {"id": "own", "provider": "localfs"},
            },
            "resources": {"models": ["plain", {"name": "e", "provider": "sentence-transformers"}]},
        }});
        let ids: Vec<String> = named_providers(&object).into_iter().collect();
        assert_eq!(ids, ["own", "sentence-transformers", "vllm"]);
    }
}
