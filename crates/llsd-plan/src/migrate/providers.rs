//! A variable of a provider's config as a field of v1alpha2: its endpoint, its key, or a setting.

use llsd_api::provider_id::short_name;
use serde_json::{Map, Value, json};

use super::uses::{BaseConfiguration, BaseProvider};
use super::variables::Given;
use crate::releases::ProviderType;
use crate::server::coercion::coerced;
use crate::server::substitution::{ReferenceForm, references, whole};

/// The field of v1alpha2 that stands for a key of the config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Endpoint,
    Host,
    Region,
    ApiKey,
    SecretRef(String),
    Setting(String),
}

/// The field that says what `given` says at `key`, or why there is none.
pub(super) fn field(
    base: &BaseConfiguration<'_>,
    provider: &BaseProvider<'_>,
    key: &str,
    given: Given<'_>,
) -> Result<Field, String> {
    let known = base.profile.catalogue.get(&provider.api, &provider.kind);
    let alone = provider.config.get(key).and_then(Value::as_str).is_some_and(|text| {
        whole(text)
            .is_some_and(|reference| !matches!(reference.form, ReferenceForm::Alternative(_)))
    });
    let is_key =
        config_key(base, provider, ProviderType::key, &["api_key", "api_token"]) == Some(key);
    match given {
        Given::Secret { .. } if !alone => {
            Err(format!("no field takes `{key}` of the provider `{}` from a Secret", provider.id))
        }
        // A password is a key to the catalogue, but nobody would call it one.
        Given::Secret { .. } if is_key && key != "password" => Ok(Field::ApiKey),
        Given::Secret { .. } if known.is_some_and(|known| known.knows(key)) => {
            Ok(Field::SecretRef(key.to_owned()))
        }
        Given::Secret { .. } => Err(format!("the provider `{}` has no such field", provider.id)),
        Given::Text(_) if is_key || is_secret(key) => {
            Err(in_a_secret(provider, is_key && key != "password", key))
        }
        Given::Text(text) => Ok(plain_field(base, provider, known, key, text, alone)),
    }
}

fn plain_field(
    base: &BaseConfiguration<'_>,
    provider: &BaseProvider<'_>,
    known: Option<ProviderType>,
    key: &str,
    text: &str,
    alone: bool,
) -> Field {
    let endpoint = config_key(base, provider, ProviderType::endpoint, &["url", "base_url"]);
    // A number where text belongs stops the server either way; as a setting it does so unchanged.
    if !alone || (base.profile.layout.coerces_variables && coerced(text)) {
        return Field::Setting(key.to_owned());
    }
    if key == "host" && known.is_some_and(|known| known.knows("host")) {
        Field::Host
    } else if endpoint == Some(key) {
        Field::Endpoint
    } else if known.and_then(ProviderType::region) == Some(key) {
        Field::Region
    } else {
        Field::Setting(key.to_owned())
    }
}

/// The key of the provider's own config that generation would take for an endpoint or a key.
fn config_key(
    base: &BaseConfiguration<'_>,
    provider: &BaseProvider<'_>,
    of: impl Fn(ProviderType) -> Option<&'static str>,
    usual: &[&'static str],
) -> Option<&'static str> {
    let names = base.profile.releases.field_names(&provider.api, &provider.kind, of);
    names.chain(usual.iter().copied()).find(|name| provider.config.get(name).is_some())
}

fn is_secret(key: &str) -> bool {
    ["password", "api_key", "_token", "secret"].iter().any(|end| key.ends_with(end))
}

fn in_a_secret(provider: &BaseProvider<'_>, is_key: bool, key: &str) -> String {
    let (field, key) = if is_key {
        ("apiKey".to_owned(), "api-key".to_owned())
    } else {
        (format!("secretRefs.{key}"), key.replace('_', "-"))
    };
    let id = &provider.id;
    format!(
        "it holds a secret in clear, and fields take secrets from a Secret only; \
         `kubectl create secret generic {id} --from-file={key}=FILE` makes one, and \
         `{field}: {{name: {id}, key: {key}}}` of the provider `{id}` then takes its place"
    )
}

/// The provider as the resource names it: short where that means the same.
pub(super) fn type_name(base: &BaseConfiguration<'_>, provider: &BaseProvider<'_>) -> String {
    let short = short_name(&provider.kind);
    match base.profile.catalogue.full_type(&provider.api, short) {
        Some(full) if full == provider.kind => short.to_owned(),
        _ => provider.kind.clone(),
    }
}

/// An entry of `spec.providers` in the making; several variables may contribute to one setting.
pub(super) struct Entry {
    fields: Map<String, Value>,
}

/// The order in which fields are written.
const FIELDS: [&str; 8] =
    ["id", "provider", "endpoint", "host", "region", "apiKey", "secretRefs", "settings"];

impl Entry {
    /// `among` says whether it is one of several, which then all have an id.
    pub(super) fn new(
        base: &BaseConfiguration<'_>,
        provider: &BaseProvider<'_>,
        among: bool,
    ) -> Self {
        let mut fields = Map::new();
        if among || provider.id != short_name(&provider.kind) {
            fields.insert("id".to_owned(), json!(provider.id));
        }
        fields.insert("provider".to_owned(), json!(type_name(base, provider)));
        Self { fields }
    }

    /// Sets a field and tells its place below the entry.
    pub(super) fn set(
        &mut self,
        base: &BaseConfiguration<'_>,
        provider: &BaseProvider<'_>,
        field: &Field,
        (variable, given): (&str, Given<'_>),
    ) -> Vec<String> {
        let value = match given {
            Given::Text(text) => json!(text),
            Given::Secret { name, key } => json!({"name": name, "key": key}),
        };
        let (name, value, below) = match field {
            Field::Endpoint => ("endpoint", value, None),
            Field::Host => ("host", value, None),
            Field::Region => ("region", value, None),
            Field::ApiKey => ("apiKey", value, None),
            Field::SecretRef(key) => ("secretRefs", value, Some(key)),
            Field::Setting(key) => {
                let settings = self.fields.get("settings").and_then(|settings| settings.get(key));
                let before = settings.unwrap_or(&provider.config[key.as_str()]);
                let text = value.as_str().unwrap_or_default();
                let value =
                    substituted(before, variable, text, base.profile.layout.coerces_variables);
                ("settings", value, Some(key))
            }
        };
        match below {
            None => {
                self.fields.insert(name.to_owned(), value);
                vec![name.to_owned()]
            }
            Some(key) => {
                let holder = self.fields.entry(name).or_insert_with(|| json!({}));
                holder[key.as_str()] = value;
                vec![name.to_owned(), key.clone()]
            }
        }
    }

    pub(super) fn finish(mut self) -> Value {
        let ordered = FIELDS.iter().filter_map(|field| {
            self.fields.shift_remove(*field).map(|value| ((*field).to_owned(), value))
        });
        Value::Object(ordered.collect())
    }
}

/// A value of the configuration with one variable put in, as the server does it.
fn substituted(value: &Value, variable: &str, given: &str, coerces: bool) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(key, value)| (key.clone(), substituted(value, variable, given, coerces)))
                .collect(),
        ),
        Value::Array(items) => {
            items.iter().map(|value| substituted(value, variable, given, coerces)).collect()
        }
        Value::String(text) => {
            let mut result = text.clone();
            for reference in references(text).filter(|reference| reference.variable == variable) {
                let (written, by) = match reference.form {
                    ReferenceForm::Required => (String::new(), given),
                    ReferenceForm::Default(_) => (after(text, variable), given),
                    ReferenceForm::Alternative(value) => (after(text, variable), value),
                };
                result = result.replace(&format!("${{env.{variable}{written}}}"), by);
            }
            if coerces && result != *text && coerced(&result) {
                number(&result).unwrap_or(Value::String(result))
            } else {
                Value::String(result)
            }
        }
        other => other.clone(),
    }
}

/// What stands behind the variable's name in its first reference.
fn after(text: &str, variable: &str) -> String {
    let start = format!("${{env.{variable}");
    let rest = text.split_once(&start).map(|(_, rest)| rest).unwrap_or_default();
    rest.split_once('}').map(|(inside, _)| inside).unwrap_or_default().to_owned()
}

/// The number or boolean that the server makes of a text.
fn number(text: &str) -> Option<Value> {
    match text.to_lowercase().as_str() {
        "true" => return Some(json!(true)),
        "false" => return Some(json!(false)),
        _ => {}
    }
    let plain = text.trim().replace('_', "");
    let integer = plain.strip_prefix('+').unwrap_or(&plain).parse::<i64>().ok().map(Value::from);
    integer.or_else(|| {
        let float = plain.parse::<f64>().ok().filter(|float| float.is_finite())?;
        serde_json::Number::from_f64(float).map(Value::Number)
    })
}
