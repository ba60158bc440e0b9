//! What a resource is laid over: the distributions of a release, and random parts of them.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use llsd_cases::files::starter_base;
use llsd_plan::releases::Distribution;
use llsd_testkit::Release;
use llsd_yaml::document;
use serde_json::Value;

use crate::random::Random;

/// A base configuration.
#[derive(Clone, Debug)]
pub struct Base {
    /// As golden cases name it, where all of it is one that they share.
    pub shared: Option<String>,
    pub document: Arc<Value>,
    pub text: Arc<str>,
    /// The variables that it refers to, each with a value that fits.
    pub variables: Arc<BTreeMap<String, Variable>>,
}

/// A variable of a base.
#[derive(Clone, Debug)]
pub struct Variable {
    /// A value that fits where the variable stands.
    pub fitting: String,
    /// The server does not start without it.
    pub required: bool,
}

/// One provider of a base.
#[derive(Clone, Debug)]
pub struct BaseProvider {
    pub api: String,
    /// The id that it has when it is there.
    pub id: String,
}

impl Base {
    fn new(shared: Option<String>, document: Value, text: &str) -> Self {
        let variables = Arc::new(variables(text));
        Self { shared, document: Arc::new(document), text: text.into(), variables }
    }

    /// A base with another document.
    pub fn of(document: Value) -> Self {
        let text = document::manifest(&document);
        Self::new(None, document, &text)
    }

    /// The distributions of a release as they are.
    pub fn whole(release: Release) -> Vec<Self> {
        let shared = format!("starter-{}", release.name());
        let starter = fs::read_to_string(starter_base(release.name()));
        let mut all: Vec<Self> = starter
            .iter()
            .map(|text| Self::new(Some(shared.clone()), parsed(text), text))
            .collect();
        for distribution in Distribution::all().values() {
            if distribution.release == release.name() {
                let text = distribution.base();
                all.push(Self::new(None, parsed(text), text));
            }
        }
        all
    }

    /// A part of it: some providers, and the APIs that still have any. Not every part starts.
    #[must_use]
    pub fn thinned(&self, random: &mut Random) -> Self {
        let mut document = (*self.document).clone();
        let kept = [20, 50, 80][random.below(3)];
        let mut gone = Vec::new();
        if let Some(providers) = document.get_mut("providers").and_then(Value::as_object_mut) {
            for (api, entries) in providers.iter_mut() {
                let Some(entries) = entries.as_array_mut() else { continue };
                entries.retain(|_| random.chance(kept));
                if entries.is_empty() {
                    gone.push(api.clone());
                }
            }
            providers.retain(|api, _| !gone.contains(api));
        }
        if let Some(apis) = document.get_mut("apis").and_then(Value::as_array_mut) {
            apis.retain(|api| !gone.iter().any(|gone| api == gone));
        }
        Self::of(document)
    }

    /// All providers, in the order of the file.
    pub fn providers(&self) -> Vec<BaseProvider> {
        let apis = self.document.get("providers").and_then(Value::as_object);
        let entries = apis.into_iter().flatten().flat_map(|(api, entries)| {
            let ids = entries.as_array().into_iter().flatten();
            ids.filter_map(move |entry| {
                let id = effective_id(entry.get("provider_id")?.as_str()?).to_owned();
                Some(BaseProvider { api: api.clone(), id })
            })
        });
        entries.collect()
    }
}

fn parsed(text: &str) -> Value {
    document::read(text).expect("a base is YAML")
}

/// `ollama` of `${env.OLLAMA_URL:+ollama}`.
pub fn effective_id(written: &str) -> &str {
    let Some(inside) = written.strip_prefix("${env.").and_then(|rest| rest.strip_suffix('}'))
    else {
        return written;
    };
    inside.split_once(['+', '=']).map_or(written, |(_, id)| id)
}

fn variables(text: &str) -> BTreeMap<String, Variable> {
    let mut all: BTreeMap<String, Variable> = BTreeMap::new();
    for rest in text.split("${env.").skip(1) {
        let Some((inside, _)) = rest.split_once('}') else { continue };
        let end =
            inside.find(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'));
        let (name, form) = inside.split_at(end.unwrap_or(inside.len()));
        let default = form.trim_start_matches(':').strip_prefix('=').or(form.strip_prefix(':'));
        let is_typed =
            |text: &&str| text.parse::<f64>().is_ok() || ["true", "false"].contains(text);
        let required = form.is_empty();
        let known = all
            .entry(name.to_owned())
            .or_insert_with(|| Variable { fitting: fitting(name), required });
        known.required |= required;
        if let Some(typed) = default.filter(is_typed) {
            typed.clone_into(&mut known.fitting);
        }
    }
    all
}

fn fitting(name: &str) -> String {
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    let value = match name {
        _ if ends(&["_PORT"]) => "5432",
        _ if ends(&["_URL", "_ENDPOINT", "_URI", "_BASE"]) => "http://backend.example.com:8000",
        _ if ends(&["_DIR", "_PATH"]) => "/tmp/a-folder",
        _ => "a-value",
    };
    value.to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_variables_of_a_base_have_values_that_fit() {
        let text =
            "${env.A_URL:+x} ${env.A_URL} ${env.TOKENS:=4096} ${env.OLD_TOKENS:7} ${env.NAME:=}";
        let found = variables(text);
        let all: Vec<(&str, &str, bool)> = found
            .iter()
            .map(|(name, one)| (name.as_str(), one.fitting.as_str(), one.required))
            .collect();
        let url = "http://backend.example.com:8000";
        let expected = [
            ("A_URL", url, true),
            ("NAME", "a-value", false),
            ("OLD_TOKENS", "7", false),
            ("TOKENS", "4096", false),
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn a_part_of_a_base_serves_only_apis_that_have_providers() {
        let providers = json!({"inference": [{"provider_id": "${env.X:+a}"}], "safety": [{"provider_id": "b"}]});
        let base = Base::of(json!({"apis": ["inference", "safety"], "providers": providers}));
        let ids: Vec<String> = base.providers().into_iter().map(|one| one.id).collect();
        assert_eq!(ids, ["a", "b"]);
        for seed in 0..20 {
            let part = base.thinned(&mut Random::new(seed));
            let apis: Vec<Value> = part.document["apis"].as_array().unwrap().clone();
            let left = part.document["providers"].as_object().unwrap();
            assert!(
                apis.iter().all(|api| left.contains_key(api.as_str().unwrap())),
                "{:?}",
                part.document
            );
        }
    }
}
