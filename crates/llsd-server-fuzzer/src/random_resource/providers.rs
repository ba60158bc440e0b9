//! `spec.providers` and `spec.externalProviders`.

use llsd_api::v1alpha2::PROVIDER_APIS;
use llsd_testkit::{InstalledField, InstalledType};
use serde_json::{Map, Value, json};

use super::maker::Maker;
use crate::obvious::api_of;
use crate::trial::EXTERNAL_IMAGE;

const ENDPOINT: &str = "http://backend.example.com:8000";

impl Maker<'_> {
    pub(super) fn providers(&mut self) {
        let apis: Vec<&str> = PROVIDER_APIS
            .into_iter()
            .filter(|field| !self.of_api(&api_of(field, self.types)).is_empty())
            .collect();
        let mut providers = Map::new();
        for _ in 0..self.random.below(4) {
            let inference = self.random.chance(45);
            let chosen = self.random.one_of(&apis).copied();
            let Some(field) = chosen.map(|other| if inference { "inference" } else { other })
            else {
                return;
            };
            let api = api_of(field, self.types);
            let is_taken = providers.keys().any(|taken: &String| api_of(taken, self.types) == api);
            if !is_taken {
                let entries = self.entries(&api);
                providers.insert(field.to_owned(), entries);
            }
        }
        if !providers.is_empty() {
            self.spec.insert("providers".to_owned(), providers.into());
        }
    }

    fn of_api(&self, api: &str) -> Vec<InstalledType> {
        let fit = |known: &&InstalledType| known.api == api && known.builds;
        self.types.iter().filter(fit).cloned().collect()
    }

    fn entries(&mut self, api: &str) -> Value {
        if self.random.chance(60) {
            return self.entry(api, None);
        }
        let count = 1 + self.random.below(3);
        (0..count).map(|index| self.entry(api, Some(index))).collect()
    }

    /// One provider; those of a list have ids.
    fn entry(&mut self, api: &str, index: Option<usize>) -> Value {
        let types = self.of_api(api);
        let Some(known) = self.random.one_of(&types).cloned() else { return json!({}) };
        let short = known.name.rsplit("::").next().unwrap_or_default().to_owned();
        let mut entry = Map::new();
        let id = match index {
            Some(index) => Some(format!("{api}-{index}")),
            None if self.random.chance(30) => Some(format!("my-{short}")),
            None if self.random.chance(10) => self.id_of_base(api),
            None => None,
        };
        if let Some(id) = &id {
            entry.insert("id".to_owned(), json!(id.replace('_', "-")));
        }
        let id = entry.get("id").and_then(Value::as_str).unwrap_or(&short).to_owned();
        match api {
            "inference" => self.inference.push(id),
            "safety" => self.safety.push(id),
            _ => {}
        }
        let written = match self.random.below(100) {
            0..50 => known.name.clone(),
            50..96 => short,
            _ => short.chars().skip(1).collect(),
        };
        entry.insert("provider".to_owned(), json!(written));
        self.structured(&known, &mut entry);
        self.settings(&known, &mut entry);
        entry.into()
    }

    fn id_of_base(&mut self, api: &str) -> Option<String> {
        let all = self.base.providers();
        let ids: Vec<String> =
            all.into_iter().filter(|one| one.api == api).map(|one| one.id).collect();
        self.random.one_of(&ids).cloned()
    }

    /// The fields that the resource has for all types, mostly where the type has a place for them.
    fn structured(&mut self, known: &InstalledType, entry: &mut Map<String, Value>) {
        let has = |fits: &dyn Fn(&str) -> bool| known.fields.iter().any(|field| fits(&field.name));
        let mut wanted = |has: bool| self.random.chance(if has { 40 } else { 1 });
        let secret = |key: &str| json!({"name": "credentials", "key": key});
        if wanted(known.fields.iter().any(is_endpoint)) {
            entry.insert("endpoint".to_owned(), json!(ENDPOINT));
        }
        if wanted(has(&|name| name.contains("api_key") || name.contains("api_token"))) {
            entry.insert("apiKey".to_owned(), secret("key"));
        }
        if wanted(has(&|name| name == "host")) {
            entry.insert("host".to_owned(), json!("backend.example.com"));
        }
        if wanted(has(&|name| name.contains("region"))) {
            entry.insert("region".to_owned(), json!("eu-central-1"));
        }
        if wanted(false) {
            entry.insert("deploymentName".to_owned(), json!("my-deployment"));
        }
        let texts = known.fields.iter().filter(|field| field.values.contains(&json!("a-value")));
        let texts: Vec<&InstalledField> = texts.collect();
        if self.random.chance(10)
            && let Some(field) = self.random.one_of(&texts)
        {
            entry.insert("secretRefs".to_owned(), json!({&field.name: secret("field")}));
        }
    }

    fn settings(&mut self, known: &InstalledType, entry: &mut Map<String, Value>) {
        let mut settings = Map::new();
        for field in &known.fields {
            let is_given = entry.contains_key("endpoint") && is_endpoint(field)
                || entry.contains_key(&field.name)
                || entry.get("secretRefs").is_some_and(|refs| refs.get(&field.name).is_some());
            let share = if is_given {
                2
            } else if field.required {
                92
            } else {
                12
            };
            if self.random.chance(share) {
                // The first value of a required field goes together with the others.
                let value = if field.required {
                    field.values.first()
                } else {
                    self.random.one_of(&field.values)
                };
                settings.extend(value.map(|value| (field.name.clone(), value.clone())));
            }
        }
        if self.random.chance(2) {
            settings.insert("no_such_field".to_owned(), json!(1));
        }
        if !settings.is_empty() {
            let name = if self.random.chance(90) { "settings" } else { "config" };
            entry.insert(name.to_owned(), settings.into());
        }
    }

    pub(super) fn external_providers(&mut self) {
        if !self.random.chance(6) {
            return;
        }
        let mut entry = json!({"providerId": "custom", "image": EXTERNAL_IMAGE});
        if self.random.chance(50) {
            entry["config"] = json!({"url": "http://custom.example.com", "timeout": 3});
        }
        if self.random.chance(30) {
            entry["secretRefs"] = json!({"url": {"name": "credentials", "key": "custom"}});
        }
        self.inference.push("custom".to_owned());
        self.spec.insert("externalProviders".to_owned(), json!({"inference": [entry]}));
    }
}

fn is_endpoint(field: &InstalledField) -> bool {
    let named =
        |name: &str| name == "url" || name == "uri" || name == "api_base" || name.ends_with("_url");
    named(&field.name) && field.values.contains(&json!(ENDPOINT))
}
