//! What the tests of whole stories share: looking at what a server runs with, at what is said of a
//! resource, and a registry that the operator may use. Programs that use it also declare
//! `mod cluster; mod operator;`.
#![allow(dead_code, reason = "each test program uses its own part")]

pub mod registry;
pub mod relay;
pub mod running;
pub mod stub_server;

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use llsd::manifests::names;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::operator::bed::{Bed, Namespace, PATIENCE};

pub const DISTRIBUTION: &str = "LlamaStackDistribution";

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

impl Namespace<'_> {
    /// Makes or changes a Secret.
    pub async fn secret(&self, name: &str, data: Value) {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data,
        });
        self.apply(&secret.to_string()).await;
    }

    /// Makes or changes a ConfigMap.
    pub async fn config_map(&self, name: &str, data: Value) {
        let config_map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data,
        });
        self.apply(&config_map.to_string()).await;
    }

    /// What kubectl says of a resource that must be refused.
    pub async fn refusal(&self, spec: &Value) -> String {
        let object = json!({
            "apiVersion": "llamastack.io/v1alpha2", "kind": DISTRIBUTION,
            "metadata": {"name": "refused"}, "spec": spec,
        });
        let args = ["apply", "-n", &self.name, "-f", "-"];
        let answer = self.cluster.kubectl(&args, Some(&object.to_string())).await.unwrap();
        assert!(!answer.success(), "it is accepted");
        answer.stderr
    }

    /// Waits for an event on a resource; gives its note.
    pub async fn until_event(&self, resource: &str, reason: &str, says: &str) -> String {
        let begun = Instant::now();
        let mut seen = Vec::new();
        while begun.elapsed() < PATIENCE {
            let events = self.list("Event").await;
            let of_resource = events.iter().filter(|event| event["regarding"]["name"] == resource);
            seen = of_resource
                .map(|event| (event["reason"].to_string(), event["note"].to_string()))
                .collect();
            let found = seen.iter().find(|(why, note)| why.contains(reason) && note.contains(says));
            if let Some((_, note)) = found {
                return note.clone();
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("no event {reason} on {resource} that says `{says}`: {seen:#?}");
    }
}

impl Bed {
    /// Writes the operator's own ConfigMap.
    pub async fn configure(&self, data: Value) {
        let namespace = Namespace { cluster: &self.cluster, name: names::NAMESPACE.to_owned() };
        namespace.config_map(names::CONFIG_MAP, data).await;
    }

    /// The operator's own namespace.
    pub fn operator_namespace(&self) -> Namespace<'_> {
        Namespace { cluster: &self.cluster, name: names::NAMESPACE.to_owned() }
    }
}
