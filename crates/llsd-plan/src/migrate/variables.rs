//! The variables of a resource, and which of them could be said in another way at all.

use std::collections::BTreeMap;

use serde_json::Value;

/// One entry of `env`.
#[derive(Clone, Debug)]
pub(super) struct EnvEntry<'a> {
    /// Its place in the list.
    pub(super) index: usize,
    pub(super) name: &'a str,
    /// What it gives, or why it must stay a variable.
    pub(super) given: Result<Given<'a>, &'static str>,
    /// Whether the server finds something in it.
    pub(super) set: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Given<'a> {
    Text(&'a str),
    Secret { name: &'a str, key: &'a str },
}

/// Variables that libraries inside the server read by themselves, whatever config.yaml says.
const READ_BY_LIBRARIES: [&str; 5] = ["AWS_", "OTEL_", "HF_", "SSL_", "PYTHON"];
/// Variables that name another configuration than the distribution's own.
pub(super) const OTHER_CONFIGURATION: [&str; 2] = ["RUN_CONFIG_PATH", "LLAMA_STACK_CONFIG"];

pub(super) fn parse(env: &[Value]) -> Vec<EnvEntry<'_>> {
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for name in env.iter().filter_map(name) {
        *times.entry(name).or_default() += 1;
    }
    let variables = env.iter().enumerate().filter_map(|(index, entry)| {
        let name = name(entry)?;
        let given = if times.get(name).is_some_and(|times| *times > 1) {
            Err("it is set more than once")
        } else if READ_BY_LIBRARIES.iter().any(|prefix| name.starts_with(prefix)) {
            Err("libraries inside the server read it too")
        } else if env.iter().any(|other| mentions(other, name)) {
            Err("another variable refers to it")
        } else {
            given(entry)
        };
        let set = entry.get("valueFrom").is_some_and(|from| !from.is_null())
            || text(entry).is_some_and(|text| !text.is_empty());
        Some(EnvEntry { index, name, given, set })
    });
    variables.collect()
}

fn name(entry: &Value) -> Option<&str> {
    entry.get("name")?.as_str()
}

fn text(entry: &Value) -> Option<&str> {
    entry.get("value")?.as_str()
}

/// Kubernetes puts other variables into a value where it says `$(NAME)`.
fn mentions(entry: &Value, name: &str) -> bool {
    text(entry).is_some_and(|text| text.contains(&format!("$({name})")))
}

fn given(entry: &Value) -> Result<Given<'_>, &'static str> {
    if let Some(from) = entry.get("valueFrom").filter(|from| !from.is_null()) {
        let Some(secret) = from.get("secretKeyRef").filter(|secret| secret.is_object()) else {
            return Err("fields of v1alpha2 take values from Secrets only");
        };
        if secret.get("optional") == Some(&Value::Bool(true)) {
            return Err("its Secret is optional, and one that a field names must exist");
        }
        let part = |part: &str| secret.get(part).and_then(Value::as_str).filter(|t| !t.is_empty());
        return match (part("name"), part("key")) {
            (Some(name), Some(key)) => Ok(Given::Secret { name, key }),
            _ => Err("its Secret or the key in it has no name"),
        };
    }
    match text(entry) {
        None | Some("") => Err("it is empty, which is as good as not set"),
        Some(text) if text.contains("$(") || text.contains("$$") => {
            Err("its value refers to other variables")
        }
        // In a variable the server takes this as it is; in config.yaml it would look it up.
        Some(text) if text.contains("${env.") => Err("its value looks like a reference"),
        Some(text) => Ok(Given::Text(text)),
    }
}
