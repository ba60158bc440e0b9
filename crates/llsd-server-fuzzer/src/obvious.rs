//! The file that a person would have written for a resource who knows the installed release alone: its own field names,
//! nothing filled in, nothing checked. What the server thinks of it tells whose mistake a refusal is.

use llsd_testkit::InstalledType;
use serde_json::{Map, Value, json};

use crate::base::effective_id;
use crate::trial::Trial;

/// A file, and whether all that the resource asks for is in it.
#[derive(Debug)]
pub struct Obvious {
    pub text: String,
    pub is_whole: bool,
}

const ENDPOINTS: [&str; 6] =
    ["base_url", "url", "api_base", "endpoint", "uri", "guardrails_service_url"];
const KEYS: [&str; 3] = ["api_key", "api_token", "aws_bedrock_bearer_token"];
const REGIONS: [&str; 2] = ["region_name", "region"];

/// `vector_io` of `vectorIo`.
pub fn in_snake_case(name: &str) -> String {
    let word = |c: char| {
        let break_before = c.is_ascii_uppercase().then_some('_');
        break_before.into_iter().chain([c.to_ascii_lowercase()])
    };
    name.chars().flat_map(word).collect()
}

/// The file of a trial.
pub fn obvious(trial: &Trial, types: &[InstalledType]) -> Obvious {
    let mut writer = Writer { document: (*trial.base.document).clone(), is_whole: true };
    let section = |name: &str| trial.spec.get(name).and_then(Value::as_object);
    for (api, entries) in section("providers").into_iter().flatten() {
        let api = api_of(api, types);
        for entry in one_or_many(entries) {
            writer.provider(&api, entry, types);
        }
    }
    for (kind, entries) in section("resources").into_iter().flatten() {
        for entry in entries.as_array().into_iter().flatten() {
            writer.registered(kind, entry);
        }
    }
    let others = ["disabled", "storage", "access", "externalProviders", "monitoring"];
    writer.is_whole &= others.iter().all(|other| trial.spec.get(other).is_none());
    Obvious { text: writer.document.to_string(), is_whole: writer.is_whole }
}

/// The API that the release has for a field of the resource.
pub fn api_of(field: &str, types: &[InstalledType]) -> String {
    let api = in_snake_case(field);
    let other = match api.as_str() {
        "agents" => "responses",
        "responses" => "agents",
        _ => return api,
    };
    if types.iter().any(|known| known.api == api) { api } else { other.to_owned() }
}

/// The type that a name stands for.
pub fn type_of<'t>(
    types: &'t [InstalledType],
    api: &str,
    written: &str,
) -> Option<&'t InstalledType> {
    let names = [written.to_owned(), format!("remote::{written}"), format!("inline::{written}")];
    let find = |name: &String| types.iter().find(|known| known.api == api && known.name == *name);
    names.iter().find_map(find)
}

fn one_or_many(entries: &Value) -> &[Value] {
    match entries {
        Value::Array(all) => all,
        one => std::slice::from_ref(one),
    }
}

struct Writer {
    document: Value,
    is_whole: bool,
}

impl Writer {
    fn provider(&mut self, api: &str, entry: &Value, types: &[InstalledType]) {
        let written = entry["provider"].as_str().unwrap_or_default();
        let Some(known) = type_of(types, api, written) else {
            self.is_whole = false;
            return;
        };
        let mut config = Map::new();
        for settings in ["settings", "config"] {
            config.extend(
                entry.get(settings).and_then(Value::as_object).cloned().unwrap_or_default(),
            );
        }
        let mut place = |value: Option<Value>, names: &[&str]| {
            let Some(value) = value else { return };
            let field =
                names.iter().find(|name| known.fields.iter().any(|field| field.name == **name));
            match field {
                Some(field) => drop(config.insert((*field).to_owned(), value)),
                None => self.is_whole = false,
            }
        };
        place(entry.get("endpoint").cloned(), &ENDPOINTS);
        place(entry.get("apiKey").map(|_| json!("a-value")), &KEYS);
        place(entry.get("region").cloned(), &REGIONS);
        let host = entry.get("host");
        place(
            host.map(|host| if host.is_string() { host.clone() } else { json!("a-value") }),
            &["host"],
        );
        for field in entry.get("secretRefs").and_then(Value::as_object).into_iter().flatten() {
            place(Some(json!("a-value")), &[field.0]);
        }
        // A key given twice is refused on purpose.
        let has_key_twice = entry.get("apiKey").is_some()
            && KEYS.iter().any(|key| entry["secretRefs"].get(*key).is_some());
        self.is_whole &= entry.get("deploymentName").is_none() && !has_key_twice;
        let id = entry.get("id").cloned();
        let id = id.unwrap_or_else(|| json!(written.rsplit("::").next().unwrap_or_default()));
        self.add(api, &json!({"provider_id": id, "provider_type": known.name, "config": config}));
    }

    fn add(&mut self, api: &str, entry: &Value) {
        let same = |other: &Value| {
            let written = other.get("provider_id").and_then(Value::as_str);
            written.is_some_and(|written| entry["provider_id"] == effective_id(written))
        };
        let entries = list(&mut self.document["providers"][api]);
        entries.retain(|other| !same(other));
        entries.push(entry.clone());
        if let Some(apis) = self.document.get_mut("apis").and_then(Value::as_array_mut)
            && !apis.is_empty()
            && !apis.iter().any(|other| other == api)
        {
            apis.push(json!(api));
        }
    }

    /// Only what names its provider; the others need a choice.
    fn registered(&mut self, kind: &str, entry: &Value) {
        let Some(provider) = entry.get("provider") else {
            self.is_whole &= kind == "tools" && self.connected(entry);
            return;
        };
        let metadata = entry.get("metadata").cloned().unwrap_or_else(|| json!({}));
        let mut node = json!({"provider_id": provider});
        match kind {
            "models" => {
                node["model_id"] = entry["name"].clone();
                node["metadata"] = metadata;
                node["model_type"] =
                    entry.get("modelType").cloned().unwrap_or_else(|| json!("llm"));
                if let Some(dimension) = entry.get("embeddingDimension") {
                    node["metadata"]["embedding_dimension"] = dimension.clone();
                }
            }
            "shields" => node["shield_id"] = entry["name"].clone(),
            _ => {
                self.is_whole = false;
                return;
            }
        }
        let holder = match self.document.get("storage") {
            Some(_) => &mut self.document["registered_resources"],
            None => &mut self.document,
        };
        list(&mut holder[kind]).push(node);
    }

    /// A server of the Model Context Protocol, where the release has connectors.
    fn connected(&mut self, entry: &Value) -> bool {
        let has_them = self.document.pointer("/storage/stores/connectors").is_some();
        let Some(uri) = entry.pointer("/mcpEndpoint/uri").filter(|_| has_them) else {
            return false;
        };
        let name = entry["name"].as_str().unwrap_or_default().trim_start_matches("mcp::");
        let connector = json!({"connector_id": name, "connector_type": "mcp", "url": uri});
        list(&mut self.document["connectors"]).push(connector);
        true
    }
}

fn list(value: &mut Value) -> &mut Vec<Value> {
    if !value.is_array() {
        *value = json!([]);
    }
    value.as_array_mut().expect("made a list above")
}
