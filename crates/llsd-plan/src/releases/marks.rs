//! The marks by which a document shows the releases that it can be for.

use serde_json::Value;

use super::number::Span;
use super::set::Releases;
use crate::server::substitution::{ReferenceForm, references};

/// A trait of a document that only some releases have.
pub(super) struct Mark {
    pub(super) what: &'static str,
    releases: &'static str,
    found: fn(&Value) -> bool,
}

impl Mark {
    /// The marks of a document.
    pub(super) fn found_in(document: &Value) -> Vec<&'static Self> {
        MARKS.iter().filter(|mark| (mark.found)(document)).collect()
    }

    /// Whether it marks an API that ended with llama-stack. A resource can switch it off, so an image
    /// of OGX may still have it in its file, and it tells nothing of the server.
    pub(super) fn can_be_switched_off(&self, releases: &'static Releases) -> bool {
        let api = self.what.strip_prefix("the API ").unwrap_or(self.what.trim_matches('`'));
        releases.ended_with_llama_stack(api)
    }

    /// The releases that a document with this mark can be for.
    pub(super) fn span(&self) -> Span {
        Span::parse(self.releases).expect("a mark names releases")
    }
}

const fn mark(what: &'static str, releases: &'static str, found: fn(&Value) -> bool) -> Mark {
    Mark { what, releases, found }
}

#[rustfmt::skip]
static MARKS: [Mark; 39] = [
    mark("`metadata_store`", "until 0.2.24", |d| d.get("metadata_store").is_some()),
    mark("`inference_store`", "until 0.2.24", |d| d.get("inference_store").is_some()),
    mark("top-level `models`", "until 0.2.24", |d| d.get("models").is_some()),
    mark("top-level `shields`", "until 0.2.24", |d| d.get("shields").is_some()),
    mark("top-level `tool_groups`", "until 0.2.24", |d| d.get("tool_groups").is_some()),
    mark("the API telemetry", "until 0.2.24", |d| has_api(d, "telemetry")),
    mark("`${env.X:default}`", "until 0.2.12", |d| any_text(d, &old_grammar)),
    mark("`${env.X:=default}`", "since 0.2.24", |d| any_text(d, &new_grammar)),
    mark("a numeric `version`", "since 0.2.24", |d| d.get("version").is_some_and(Value::is_number)),
    mark("`storage`", "since 0.3.5", |d| d.get("storage").is_some()),
    mark("`registered_resources`", "since 0.3.5", |d| d.get("registered_resources").is_some()),
    mark("top-level `telemetry`", "since 0.3.5 until 0.3.5", |d| d.get("telemetry").is_some()),
    mark("`safety`", "since 0.4.7 until 0.7.3", |d| d.get("safety").is_some()),
    mark("`registered_resources.connectors`", "since 0.4.7 until 0.4.7", |d| d.pointer("/registered_resources/connectors").is_some()),
    mark("`storage.stores.prompts`", "since 0.4.7", |d| d.pointer("/storage/stores/prompts").is_some()),
    mark("`base_url` of vLLM or Ollama", "since 0.4.7", |d| model_server_has(d, "base_url", "url")),
    mark("`url` of vLLM or Ollama", "until 0.3.5", |d| model_server_has(d, "url", "base_url")),
    mark("`distro_name`", "since 0.5.4", |d| d.get("distro_name").is_some()),
    mark("`connectors`", "since 0.5.4", |d| d.get("connectors").is_some()),
    mark("the API agents", "until 0.6.1", |d| has_api(d, "agents")),
    mark("the API post_training", "until 0.6.1", |d| has_api(d, "post_training")),
    mark("the API responses", "since 0.7.3", |d| has_api(d, "responses")),
    mark("the API safety", "until 0.7.3", |d| has_api(d, "safety")),
    mark("the API eval", "until 0.7.3", |d| has_api(d, "eval")),
    mark("the API scoring", "until 0.7.3", |d| has_api(d, "scoring")),
    mark("the API datasetio", "until 0.7.3", |d| has_api(d, "datasetio")),
    mark("the API messages", "since ogx-1.0.4", |d| has_api(d, "messages")),
    mark("the API interactions", "since ogx-1.0.4", |d| has_api(d, "interactions")),
    mark("the API skills", "since ogx-1.0.4", |d| has_api(d, "skills")),
    mark("the API container_runtime", "since ogx-1.0.4", |d| has_api(d, "container_runtime")),
    mark("prompts in SQL", "since ogx-1.0.4", |d| d.pointer("/storage/stores/prompts/table_name").is_some()),
    mark("connectors in SQL", "since ogx-1.0.4", |d| d.pointer("/storage/stores/connectors/table_name").is_some()),
    mark("`storage.stores.vector_stores`", "since ogx-1.0.4", |d| d.pointer("/storage/stores/vector_stores").is_some()),
    mark("`connection_string`", "since ogx-1.0.4", |d| has_backend_field(d, "connection_string")),
    mark("`sqlstore` of batches", "since ogx-1.0.4", |d| entries(d, "batches").any(|entry| entry["config"].get("sqlstore").is_some())),
    mark("`aws_bedrock_bearer_token`", "since ogx-1.0.4", |d| entries(d, "inference").any(|entry| entry["config"].get("aws_bedrock_bearer_token").is_some())),
    mark("a model of the provider all", "since ogx-1.0.4", has_model_of_all),
    mark("a `server` setting of OGX", "since ogx-1.0.4", |d| SERVER_OF_OGX.iter().any(|key| d["server"].get(key).is_some())),
    mark("`~/.ogx`", "since ogx-1.0.4", |d| any_text(d, &|text| text.contains("/.ogx/"))),
];

/// Settings that no other server reads.
const SERVER_OF_OGX: [&str; 5] =
    ["insecure", "tenancy", "tls_config", "hsts_max_age", "registry_refresh_interval_seconds"];

fn entries<'a>(document: &'a Value, api: &str) -> impl Iterator<Item = &'a Value> {
    document["providers"][api].as_array().into_iter().flatten()
}

fn has_backend_field(document: &Value, field: &str) -> bool {
    let backends = document["storage"]["backends"].as_object().into_iter().flatten();
    backends.into_iter().any(|(_, backend)| backend.get(field).is_some())
}

fn has_model_of_all(document: &Value) -> bool {
    let models = document["registered_resources"]["models"].as_array().into_iter().flatten();
    models.into_iter().any(|model| model["provider_id"] == "all")
}

fn has_api(document: &Value, api: &str) -> bool {
    let listed = document["apis"].as_array().into_iter().flatten().any(|name| name == api);
    listed || document["providers"].get(api).is_some()
}

/// A file that is meant for several releases has both fields, and then neither tells anything.
fn model_server_has(document: &Value, field: &str, other: &str) -> bool {
    let servers = document["providers"]["inference"].as_array().into_iter().flatten();
    servers
        .filter(|entry| {
            matches!(entry["provider_type"].as_str(), Some("remote::vllm" | "remote::ollama"))
        })
        .map(|entry| &entry["config"])
        .any(|config| config.get(field).is_some() && config.get(other).is_none())
}

fn any_text(value: &Value, test: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(string) => test(string),
        Value::Array(items) => items.iter().any(|item| any_text(item, test)),
        Value::Object(fields) => fields.values().any(|field| any_text(field, test)),
        _ => false,
    }
}

fn new_grammar(text: &str) -> bool {
    text.contains("${env.") && (text.contains(":=") || text.contains(":+"))
}

fn old_grammar(text: &str) -> bool {
    !new_grammar(text)
        && references(text).any(|reference| !matches!(reference.form, ReferenceForm::Required))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_names_releases() {
        for mark in &MARKS {
            assert!(Span::parse(mark.releases).is_ok(), "{}", mark.what);
        }
    }
}
