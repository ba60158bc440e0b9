//! What the server makes of a configuration and its variables: references looked up, entries that
//! are switched off gone. Enough of it to compare two configurations by their effect.

use std::collections::BTreeMap;

use llsd_plan::plan::Plan;
use llsd_plan::releases::Distribution;
use llsd_plan::server::coercion::coerced;
use llsd_yaml::document;
use serde_json::{Map, Value, json};

/// The configuration as the server runs it.
pub(crate) fn effect(distribution: &str, plan: &Plan) -> Value {
    let base = &Distribution::all()[distribution];
    let text = plan.generated.as_ref().map_or(base.base(), |generated| &generated.text);
    let coerces = base.release != "0.2.12";
    let config = document::read(text).unwrap();
    let mut config = looked_up(&config, &environment(plan), coerces);
    switch_off(&mut config);
    if let Some(server) = config.get_mut("server").and_then(Value::as_object_mut) {
        // Only OGX's own command asks for it; the operator does not start servers that way.
        server.shift_remove("insecure");
    }
    config
}

fn environment(plan: &Plan) -> BTreeMap<String, String> {
    let objects = plan.objects.manifests();
    let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
    let containers = &deployment["spec"]["template"]["spec"]["containers"];
    let env = containers[0]["env"].as_array().cloned().unwrap_or_default();
    env.iter()
        .map(|variable| {
            let secret = &variable["valueFrom"]["secretKeyRef"];
            let value = match variable["value"].as_str() {
                Some(text) => text.to_owned(),
                None => format!("secret {}/{}", secret["name"], secret["key"]),
            };
            (variable["name"].as_str().unwrap().to_owned(), value)
        })
        .collect()
}

fn looked_up(value: &Value, env: &BTreeMap<String, String>, coerces: bool) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (key.clone(), looked_up(value, env, coerces)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(|item| looked_up(item, env, coerces)).collect(),
        Value::String(text) => scalar(text, env, coerces),
        other => other.clone(),
    }
}

fn scalar(text: &str, env: &BTreeMap<String, String>, coerces: bool) -> Value {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${env.") {
        let (inside, behind) = after.split_once('}').unwrap();
        let end = inside.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (name, form) = inside.split_at(end.unwrap_or(inside.len()));
        let set = env.get(name).filter(|value| !value.is_empty());
        let value = match form.trim_start_matches(':') {
            alternative if form.contains('+') && form.find('+') < Some(2) => {
                set.map(|_| alternative.trim_start_matches('+'))
            }
            default => set.map(String::as_str).or(Some(default.trim_start_matches('='))),
        };
        result.push_str(before);
        result.push_str(value.unwrap_or_default());
        rest = behind;
    }
    result.push_str(rest);
    if result == text {
        return json!(text);
    }
    match result.to_lowercase().as_str() {
        "" => Value::Null,
        "true" if coerces => json!(true),
        "false" if coerces => json!(false),
        _ if coerces && coerced(&result) => match result.parse::<i64>() {
            Ok(integer) => json!(integer),
            Err(_) => json!(result.parse::<f64>().unwrap()),
        },
        _ => json!(result),
    }
}

/// Providers and resources without an id are none, and an empty `metadata` says nothing.
fn switch_off(config: &mut Value) {
    let apis = config["providers"].as_object_mut().unwrap();
    for entries in apis.values_mut() {
        let entries = entries.as_array_mut().unwrap();
        entries.retain(|entry| !entry["provider_id"].is_null());
    }
    for kind in ["models", "shields"] {
        let nested = config.pointer(&format!("/registered_resources/{kind}")).is_some();
        let list =
            if nested { &mut config["registered_resources"][kind] } else { &mut config[kind] };
        let Some(list) = list.as_array_mut() else { continue };
        list.retain(|entry| {
            !entry["provider_id"].is_null() && (kind == "shields" || !entry["model_id"].is_null())
        });
        for entry in list.iter_mut() {
            let entry = entry.as_object_mut().unwrap();
            if entry.get("metadata") == Some(&json!({})) {
                entry.shift_remove("metadata");
            }
        }
        list.sort_by_key(ToString::to_string);
    }
}
