//! Which variables the configuration of a distribution reads, and what for. The configuration itself is
//! the only source, embedded or given: no variable of a distribution is known here by name.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::releases::{Releases, ServerProfile, detect};
use crate::server::substitution::{EffectiveId, references};

/// The configuration that a distribution runs.
pub(super) struct BaseConfiguration<'d> {
    /// `starter 0.7.3`, or the file.
    pub(super) title: String,
    pub(super) profile: ServerProfile,
    document: &'d Value,
    pub(super) providers: Vec<BaseProvider<'d>>,
}

/// A provider of the configuration.
pub(super) struct BaseProvider<'d> {
    pub(super) api: String,
    pub(super) id: String,
    pub(super) kind: String,
    /// The variable that switches it on.
    pub(super) switch: Option<String>,
    pub(super) config: &'d Value,
}

/// One place where a variable is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum VariableUse {
    /// It switches the provider on.
    Switch(usize),
    /// It is in this key of the provider's config.
    Config(usize, String),
    /// It names the model of this index.
    Model(usize),
    /// It decides whether the model of this index has a provider.
    ModelProvider(usize),
    /// It is the model of the shield of this index, and switches the shield on.
    Shield(usize),
    /// It switches the default shield on.
    DefaultShield,
    Elsewhere(String),
}

impl<'d> BaseConfiguration<'d> {
    /// A configuration that was given, for an image of which this release is known; nothing where no
    /// server reads it.
    pub(super) fn given(title: &str, document: &'d Value, release: Option<&str>) -> Option<Self> {
        let profile = detect(Releases::shipped(), document, release).ok()?;
        let providers = providers(document);
        Some(Self { title: title.to_owned(), profile, document, providers })
    }

    /// The configuration behind a name; nothing for a name that is not known.
    pub(super) fn of_distribution(name: &str) -> Option<Self> {
        let releases = Releases::shipped();
        let distribution = releases.distributions.get(name)?;
        let (document, _) = distribution.document();
        let profile = detect(releases, document, Some(&distribution.release)).ok()?;
        let title = format!("{name} {}", distribution.release);
        Some(Self { title, profile, document, providers: providers(document) })
    }

    /// Every variable with all the places that read it.
    pub(super) fn places(&self) -> BTreeMap<&'d str, Vec<VariableUse>> {
        let mut found = UsesByVariable::default();
        let mut next = 0;
        for (key, value) in self.document.as_object().into_iter().flatten() {
            match key.as_str() {
                "providers" => {
                    for entries in value.as_object().into_iter().flat_map(|apis| apis.values()) {
                        for entry in entries.as_array().into_iter().flatten() {
                            if EffectiveId::parse(text(entry, "provider_id"), "").is_some() {
                                found.provider(entry, next);
                                next += 1;
                            }
                        }
                    }
                }
                "registered_resources" => {
                    for (kind, list) in value.as_object().into_iter().flatten() {
                        found.registered(kind, list);
                    }
                }
                "models" | "shields" => found.registered(key, value),
                "safety" => {
                    let place = |key: &str| match key {
                        "default_shield_id" => VariableUse::DefaultShield,
                        _ => VariableUse::Elsewhere(format!("safety.{key}")),
                    };
                    for (key, value) in value.as_object().into_iter().flatten() {
                        found.note(value, &place(key));
                    }
                }
                _ => found.elsewhere(value, key),
            }
        }
        found.0
    }

    pub(super) fn registered(&self, kind: &str) -> &'d [Value] {
        let list = self.document.pointer(&format!("/registered_resources/{kind}"));
        let list = list.or_else(|| self.document.get(kind)).and_then(Value::as_array);
        list.map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn has_default_shield(&self) -> bool {
        self.document.pointer("/safety/default_shield_id").is_some_and(|shield| !shield.is_null())
    }
}

fn providers(document: &Value) -> Vec<BaseProvider<'_>> {
    let apis = document.get("providers").and_then(Value::as_object).into_iter().flatten();
    let entries = apis.flat_map(|(api, entries)| {
        entries.as_array().into_iter().flatten().map(move |entry| (api, entry))
    });
    entries
        .filter_map(|(api, entry)| {
            let kind = text(entry, "provider_type").to_owned();
            let EffectiveId { id, condition } =
                EffectiveId::parse(text(entry, "provider_id"), &kind)?;
            let config = entry.get("config").unwrap_or(&Value::Null);
            Some(BaseProvider { api: api.clone(), id, kind, switch: condition, config })
        })
        .collect()
}

fn text<'v>(entry: &'v Value, key: &str) -> &'v str {
    entry.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[derive(Default)]
struct UsesByVariable<'d>(BTreeMap<&'d str, Vec<VariableUse>>);

impl<'d> UsesByVariable<'d> {
    fn provider(&mut self, entry: &'d Value, index: usize) {
        for (key, value) in entry.as_object().into_iter().flatten() {
            match key.as_str() {
                "provider_id" => self.note(value, &VariableUse::Switch(index)),
                "config" => {
                    for (key, value) in value.as_object().into_iter().flatten() {
                        self.note(value, &VariableUse::Config(index, key.clone()));
                    }
                }
                _ => self.note(value, &VariableUse::Elsewhere(format!("providers.{key}"))),
            }
        }
    }

    fn registered(&mut self, kind: &str, list: &'d Value) {
        for (index, entry) in list.as_array().into_iter().flatten().enumerate() {
            for (key, value) in entry.as_object().into_iter().flatten() {
                let place = match (kind, key.as_str()) {
                    ("models", "model_id") => VariableUse::Model(index),
                    ("models", "provider_id") => VariableUse::ModelProvider(index),
                    ("shields", "provider_id" | "provider_shield_id") => VariableUse::Shield(index),
                    _ => VariableUse::Elsewhere(kind.to_owned()),
                };
                self.note(value, &place);
            }
        }
    }

    fn elsewhere(&mut self, value: &'d Value, path: &str) {
        match value {
            Value::Object(fields) => {
                fields
                    .iter()
                    .for_each(|(key, value)| self.elsewhere(value, &format!("{path}.{key}")));
            }
            other => self.note(other, &VariableUse::Elsewhere(path.to_owned())),
        }
    }

    fn note(&mut self, value: &'d Value, place: &VariableUse) {
        match value {
            Value::Object(fields) => fields.values().for_each(|value| self.note(value, place)),
            Value::Array(items) => items.iter().for_each(|value| self.note(value, place)),
            Value::String(text) => {
                for reference in references(text) {
                    let places = self.0.entry(reference.variable).or_default();
                    if !places.contains(place) {
                        places.push(place.clone());
                    }
                }
            }
            _ => {}
        }
    }
}
