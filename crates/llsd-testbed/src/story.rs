//! The resource that most user stories start from, and how tests read what was made of it.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::namespace::Namespace;

/// The smallest spec with a generated configuration.
pub fn vllm() -> Value {
    json!({
        "distribution": {"name": "starter"},
        "providers": {"inference": {"provider": "vllm", "endpoint": "http://vllm:8000"}},
    })
}

/// The same, with an API key from the Secret `vllm-creds`.
pub fn vllm_with_key() -> Value {
    let mut spec = vllm();
    spec["providers"]["inference"]["apiKey"] =
        json!({"secretKeyRef": {"name": "vllm-creds", "key": "token"}});
    spec
}

/// The file that a resource's pods run with, read.
pub async fn config(namespace: &Namespace<'_>, resource: &Value) -> Value {
    let name = &resource["status"]["configGeneration"]["configMapName"];
    let found = namespace.get("ConfigMap", name.as_str().expect("a generated file")).await;
    let found = found.expect("the ConfigMap of the status");
    serde_saphyr::from_str(found["data"]["config.yaml"].as_str().expect("a text")).unwrap()
}

/// The entry of a list whose `field` has this value.
pub fn entry<'a>(list: &'a Value, field: &str, value: &str) -> &'a Value {
    let mut entries = list.as_array().into_iter().flatten();
    entries.find(|entry| entry[field] == value).unwrap_or(&Value::Null)
}

/// A value of a Secret whose every byte may stand as `%XX`, as in parts of a URL.
pub fn percent_decoded(value: &Value) -> String {
    let value = BASE64_STANDARD.decode(value.as_str().expect("a value")).unwrap();
    let mut bytes = value.into_iter();
    let mut decoded = Vec::new();
    while let Some(byte) = bytes.next() {
        let mut hexadecimal = || {
            let digits = [bytes.next()?, bytes.next()?];
            u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()
        };
        decoded.push(if byte == b'%' { hexadecimal().expect("two digits") } else { byte });
    }
    String::from_utf8(decoded).unwrap()
}

/// The server's container of a Deployment.
pub fn container(deployment: &Value) -> &Value {
    &deployment["spec"]["template"]["spec"]["containers"][0]
}
