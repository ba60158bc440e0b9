//! What is taken from the values of Secrets: hashes and what the server would make of them, and of a
//! connection string its parts, in a type that cannot be shown.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use llsd_plan::facts::shape::Shape;
use llsd_plan::facts::{SecretFacts, SecretKeyFacts};
use llsd_plan::resource::Key;
use llsd_plan::server::coercion::coerced;
use llsd_plan::values::connection::Connection;

use super::known::Keys;
use crate::operator::controller::secrets::hash_key::HashKey;

/// What a resource's Secrets hold now.
#[derive(Debug, Default)]
pub struct SecretsRead {
    pub facts: BTreeMap<String, SecretFacts>,
    /// Other resources whose Secrets turned out to have changed.
    pub woken: Vec<Key>,
}

impl SecretsRead {
    /// Why Secrets may not be read.
    pub fn forbidden(&self) -> impl Iterator<Item = &str> {
        self.facts.values().filter_map(|secret| secret.forbidden.as_deref())
    }
}

/// What may be known of each value.
pub(super) fn hashes(key: &HashKey, secret: &Secret) -> Keys {
    let data = secret.data.iter().flatten();
    data.map(|(field, value)| {
        let text = std::str::from_utf8(&value.0).ok();
        let facts = SecretKeyFacts {
            hash: key.hash(&value.0),
            empty: value.0.is_empty(),
            coerced: text.is_some_and(coerced),
            shape: text.map(Shape::of_value).unwrap_or_default(),
            connection: None,
        };
        (field.clone(), facts)
    })
    .collect()
}

/// Adds the parts of a connection string, which are not kept.
pub(super) fn add_connection(keys: &mut Keys, secret: &Secret, field: &str) {
    if let Some(facts) = keys.get_mut(field)
        && let Some(value) = secret.data.as_ref().and_then(|data| data.get(field))
    {
        facts.connection = Some(match std::str::from_utf8(&value.0) {
            Ok(text) => Connection::parse(text),
            Err(_) => Err("is not text"),
        });
    }
}

pub(super) fn wanted_keys(found: Option<Keys>, is_wanted: impl Fn(&String) -> bool) -> SecretFacts {
    match found {
        None => SecretFacts { missing: true, ..SecretFacts::default() },
        Some(mut keys) => {
            keys.retain(|key, _| is_wanted(key));
            SecretFacts { keys, ..SecretFacts::default() }
        }
    }
}
