//! An object as a report shows it.

use serde_json::Value;

use super::clean::clean;
use super::telling::LEFT_OUT;

/// The object without secrets, and without what repeats it.
pub(super) fn shown(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.shift_remove("managedFields");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            // The whole object once more, as text.
            annotations.shift_remove("kubectl.kubernetes.io/last-applied-configuration");
        }
    }
    if object["kind"] == "Secret" {
        for field in ["data", "stringData"] {
            for value in object.get_mut(field).and_then(Value::as_object_mut).into_iter().flatten()
            {
                *value.1 = Value::from(LEFT_OUT);
            }
        }
        return object;
    }
    clean(&mut object, false);
    object
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_people_wrote_in_clear_is_left_out_and_references_stay() {
        let shown = shown(json!({
            "kind": "Deployment",
            "metadata": {"annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": "{\"x\": \"hush\"}",
                "llamastack.io/secret-hash": "abc",
                "example.org/json": "{\"password\": \"hush\", \"replicas\": 3}",
            }},
            "env": [
                {"name": "MY_TOKEN", "value": "hush"},
                {"name": "SIGNING_KEY", "value": "hush"},
                {"name": "PORT", "value": "8321"},
                {"name": "KEY_TOKEN", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "k"}}},
                {"name": "DATABASE", "value": "postgresql://me:hush@db/llama"},
            ],
            "args": ["serve", "--api-key", "hush", "--password=hush", "--port", "8321"],
            "settings": {
                "api_key": "hush", "password": "${env.PASSWORD}", "url": "http://x",
                "tokens": ["hush", "${env.TOKEN}"], "credentials": {"value": "hush", "kind": "basic"},
            },
            "data": {"config.yaml": "a: 1\napi_token: hush\nother_token: ${env.T}\n"},
        }));
        let text = shown.to_string();
        assert!(!text.contains("hush"), "{text}");
        let kept = ["8321", "secretKeyRef", "${env.PASSWORD}", "http://x", "${env.T}", "abc"];
        for kept in
            kept.into_iter().chain(["${env.TOKEN}", "\\\"replicas\\\":3", "basic", "@db/llama"])
        {
            assert!(text.contains(kept), "{kept}: {text}");
        }
    }

    #[test]
    fn of_a_secret_the_keys_are_shown() {
        let secret = json!({"kind": "Secret", "data": {"token": "aHVzaA=="}});
        assert_eq!(shown(secret)["data"], json!({"token": "(left out)"}));
    }
}
