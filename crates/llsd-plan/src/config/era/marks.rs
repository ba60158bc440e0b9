//! The marks by which a document shows the layouts that it can belong to.

use serde_json::Value;

use super::Layout;
use super::Layout::{From0_2_13, Ogx1_0, UpTo0_2_12, V0_3, V0_4, V0_5, V0_7};
use crate::config::substitution::{Form, references};

/// A trait of a document that only some layouts have.
pub(super) struct Mark {
    pub(super) what: &'static str,
    since: Layout,
    until: Layout,
    found: fn(&Value) -> bool,
}

/// The APIs that ended with 0.7. A resource can switch them off, so an image of OGX may still have
/// them in its file.
pub(super) const GONE_APIS: [&str; 4] = ["safety", "eval", "scoring", "datasetio"];

impl Mark {
    /// The marks of a document.
    pub(super) fn of(document: &Value) -> Vec<&'static Self> {
        MARKS.iter().filter(|mark| (mark.found)(document)).collect()
    }

    /// Whether a resource can take the marked part away, so that it tells nothing of the server.
    pub(super) fn can_be_switched_off(&self) -> bool {
        let api = self.what.strip_prefix("the API ");
        self.what == "`safety`" || api.is_some_and(|api| GONE_APIS.contains(&api))
    }

    /// Whether the document belongs here as far as this mark tells.
    pub(super) fn admits(&self, layout: Layout) -> bool {
        self.since <= layout && layout <= self.until
    }
}

/// The last layout that there is.
const LAST: Layout = Layout::NEWEST;

const fn mark(what: &'static str, since: Layout, until: Layout, found: fn(&Value) -> bool) -> Mark {
    Mark { what, since, until, found }
}

#[rustfmt::skip]
static MARKS: [Mark; 39] = [
    mark("`metadata_store`", UpTo0_2_12, From0_2_13, |d| d.get("metadata_store").is_some()),
    mark("`inference_store`", UpTo0_2_12, From0_2_13, |d| d.get("inference_store").is_some()),
    mark("top-level `models`", UpTo0_2_12, From0_2_13, |d| d.get("models").is_some()),
    mark("top-level `shields`", UpTo0_2_12, From0_2_13, |d| d.get("shields").is_some()),
    mark("top-level `tool_groups`", UpTo0_2_12, From0_2_13, |d| d.get("tool_groups").is_some()),
    mark("the API telemetry", UpTo0_2_12, From0_2_13, |d| has_api(d, "telemetry")),
    mark("`${env.X:default}`", UpTo0_2_12, UpTo0_2_12, |d| any_text(d, &old_grammar)),
    mark("`${env.X:=default}`", From0_2_13, LAST, |d| any_text(d, &new_grammar)),
    mark("a numeric `version`", From0_2_13, LAST, |d| d.get("version").is_some_and(Value::is_number)),
    mark("`storage`", V0_3, LAST, |d| d.get("storage").is_some()),
    mark("`registered_resources`", V0_3, LAST, |d| d.get("registered_resources").is_some()),
    mark("top-level `telemetry`", V0_3, V0_3, |d| d.get("telemetry").is_some()),
    mark("`safety`", V0_4, V0_7, |d| d.get("safety").is_some()),
    mark("`registered_resources.connectors`", V0_4, V0_4, |d| d.pointer("/registered_resources/connectors").is_some()),
    mark("`storage.stores.prompts`", V0_4, LAST, |d| d.pointer("/storage/stores/prompts").is_some()),
    mark("`base_url` of vLLM or Ollama", V0_4, LAST, |d| model_server_has(d, "base_url", "url")),
    mark("`url` of vLLM or Ollama", UpTo0_2_12, V0_3, |d| model_server_has(d, "url", "base_url")),
    mark("`distro_name`", V0_5, LAST, |d| d.get("distro_name").is_some()),
    mark("`connectors`", V0_5, LAST, |d| d.get("connectors").is_some()),
    mark("the API agents", UpTo0_2_12, V0_5, |d| has_api(d, "agents")),
    mark("the API post_training", UpTo0_2_12, V0_5, |d| has_api(d, "post_training")),
    mark("the API responses", V0_7, LAST, |d| has_api(d, "responses")),
    mark("the API safety", UpTo0_2_12, V0_7, |d| has_api(d, "safety")),
    mark("the API eval", UpTo0_2_12, V0_7, |d| has_api(d, "eval")),
    mark("the API scoring", UpTo0_2_12, V0_7, |d| has_api(d, "scoring")),
    mark("the API datasetio", UpTo0_2_12, V0_7, |d| has_api(d, "datasetio")),
    mark("the API messages", Ogx1_0, LAST, |d| has_api(d, "messages")),
    mark("the API interactions", Ogx1_0, LAST, |d| has_api(d, "interactions")),
    mark("the API skills", Ogx1_0, LAST, |d| has_api(d, "skills")),
    mark("the API container_runtime", Ogx1_0, LAST, |d| has_api(d, "container_runtime")),
    mark("prompts in SQL", Ogx1_0, LAST, |d| d.pointer("/storage/stores/prompts/table_name").is_some()),
    mark("connectors in SQL", Ogx1_0, LAST, |d| d.pointer("/storage/stores/connectors/table_name").is_some()),
    mark("`storage.stores.vector_stores`", Ogx1_0, LAST, |d| d.pointer("/storage/stores/vector_stores").is_some()),
    mark("`connection_string`", Ogx1_0, LAST, |d| has_backend_field(d, "connection_string")),
    mark("`sqlstore` of batches", Ogx1_0, LAST, |d| entries(d, "batches").any(|entry| entry["config"].get("sqlstore").is_some())),
    mark("`aws_bedrock_bearer_token`", Ogx1_0, LAST, |d| entries(d, "inference").any(|entry| entry["config"].get("aws_bedrock_bearer_token").is_some())),
    mark("a model of the provider all", Ogx1_0, LAST, has_model_of_all),
    mark("a `server` setting of OGX", Ogx1_0, LAST, |d| SERVER_OF_OGX.iter().any(|key| d["server"].get(key).is_some())),
    mark("`~/.ogx`", Ogx1_0, LAST, |d| any_text(d, &|text| text.contains("/.ogx/"))),
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
        && references(text).any(|reference| !matches!(reference.form, Form::Required))
}
