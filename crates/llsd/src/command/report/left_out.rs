//! What a report must not hold: values of Secrets wherever they turn up, and what people wrote into
//! fields where a secret should have been a reference.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value};

/// Shorter values are found in every text, and no secrets.
const SHORTEST: usize = 5;
/// Lines of a longer value, such as a private key, of which a log may show one.
const SHORTEST_LINE: usize = 16;
const LEFT_OUT: &str = "(left out)";
/// Parts of names whose values are secrets, whoever wrote them.
const TELLING: [&str; 7] =
    ["password", "passwd", "token", "secret", "api_key", "apikey", "credential"];

/// Values of Secrets. Not printable.
#[derive(Default)]
pub(super) struct Values(Vec<(String, String)>);

impl Values {
    /// Takes in one value of a Secret, as it is and in base64.
    pub(super) fn add(&mut self, secret: &str, key: &str, value: &[u8]) {
        let name = format!("(left out: {key} of Secret {secret})");
        let text = String::from_utf8_lossy(value).into_owned();
        let whole = text.trim();
        let lines = text.lines().map(str::trim).filter(|line| line.len() >= SHORTEST_LINE);
        let mut words: Vec<String> = lines.map(str::to_owned).collect();
        if whole.len() >= SHORTEST {
            words.push(whole.to_owned());
            words.push(BASE64_STANDARD.encode(value));
            words.push(BASE64_STANDARD.encode(whole));
        }
        self.0.extend(words.into_iter().map(|word| (word, name.clone())));
        // The longest first: one value may be part of another.
        self.0.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
    }

    /// The text without them.
    pub(super) fn left_out(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (word, name)| text.replace(word, name))
    }
}

/// An object as a report shows it.
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
    clean(&mut object);
    object
}

fn clean(value: &mut Value) {
    match value {
        Value::Object(map) => clean_fields(map),
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::String(text) if text.contains('\n') => {
            *text = text.lines().map(|line| clean_line(line) + "\n").collect();
        }
        _ => {}
    }
}

fn clean_fields(map: &mut Map<String, Value>) {
    // A variable: its name tells, its value is beside it.
    let variable = map.get("name").and_then(Value::as_str).is_some_and(tells);
    for (key, value) in map.iter_mut() {
        let secret = tells(key) || (variable && key == "value");
        match value {
            Value::String(text) if secret && !is_reference(text) => LEFT_OUT.clone_into(text),
            value => clean(value),
        }
    }
}

/// A line of a file within an object, such as a generated configuration.
fn clean_line(line: &str) -> String {
    match line.split_once(": ") {
        Some((key, value)) if tells(key) && !is_reference(value.trim_matches(['"', '\''])) => {
            format!("{key}: {LEFT_OUT}")
        }
        _ => line.to_owned(),
    }
}

fn tells(name: &str) -> bool {
    let name = name.to_lowercase().replace('-', "_");
    // Names of Secrets and of keys in them are no secrets.
    let names_one = ["secretname", "secret_hash", "secretkeyref", "secretref", "automount"];
    TELLING.iter().any(|part| name.contains(part))
        && !names_one.iter().any(|part| name.contains(part))
}

fn is_reference(text: &str) -> bool {
    text.is_empty() || text.starts_with("${env.")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_left_out_wherever_it_turns_up() {
        let mut values = Values::default();
        values.add("keys", "token", b"s3cret-value\n");
        values.add("keys", "flag", b"yes");
        let log = "asked with s3cret-value (czNjcmV0LXZhbHVl), yes";
        assert_eq!(
            values.left_out(log),
            "asked with (left out: token of Secret keys) ((left out: token of Secret keys)), yes"
        );
        let key =
            "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEG\n-----END PRIVATE KEY-----\n";
        values.add("tls", "tls.key", key.as_bytes());
        assert!(!values.left_out("MIGHAgEAMBMGByqGSM49AgEG").contains("MIGH"));
    }

    #[test]
    fn what_people_wrote_in_clear_is_left_out_and_references_stay() {
        let shown = shown(json!({
            "kind": "Deployment",
            "metadata": {"annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": "{\"x\": \"hush\"}",
                "llamastack.io/secret-hash": "abc",
            }},
            "env": [
                {"name": "MY_TOKEN", "value": "hush"},
                {"name": "PORT", "value": "8321"},
                {"name": "KEY_TOKEN", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "k"}}},
            ],
            "settings": {"api_key": "hush", "password": "${env.PASSWORD}", "url": "http://x"},
            "data": {"config.yaml": "a: 1\napi_token: hush\nother_token: ${env.T}\n"},
        }));
        let text = shown.to_string();
        assert!(!text.contains("hush"), "{text}");
        for kept in ["8321", "secretKeyRef", "${env.PASSWORD}", "http://x", "${env.T}", "abc"] {
            assert!(text.contains(kept), "{kept}: {text}");
        }
    }

    #[test]
    fn of_a_secret_the_keys_are_shown() {
        let secret = json!({"kind": "Secret", "data": {"token": "aHVzaA=="}});
        assert_eq!(shown(secret)["data"], json!({"token": "(left out)"}));
    }
}
