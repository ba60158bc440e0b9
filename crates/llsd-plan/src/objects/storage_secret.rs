//! The Secret with the database's connection string as the server takes it: most have no place for a
//! whole one, so its parts become environment variables that point here. Its name carries a hash of the
//! content, and it never changes: pods that were made with another one can still start.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;

use super::blueprint::Blueprint;
use super::{labels, names};
use crate::config::wiring::Database;
use crate::values::sha256;

/// What stands for a value that only the cluster knows. It is clear text, so that nobody takes it
/// for a password.
const UNKNOWN: &str = "(from the connection string, which only the cluster knows)";

/// Digits of the hash in the name. It is made from a keyed one, so nobody can try passwords on it.
const DIGITS: usize = 8;

/// The name of the Secret; without a hash where nobody could make one.
pub fn name(resource: &str, database: &Database) -> String {
    let Database { form, hash, .. } = database;
    let digits = hash.as_ref().map(|hash| sha256::hex(&format!("{form:?} {hash}")));
    names::storage_secret(resource, digits.as_ref().map(|digits| &digits[..DIGITS]))
}

pub(super) fn storage_secret(blueprint: &Blueprint) -> Option<Secret> {
    let database = blueprint.database.as_ref()?;
    let (data, unknown) = if let Some(connection) = &database.connection {
        let part = |(key, value): (&str, String)| (key.to_owned(), ByteString(value.into()));
        // What a server cannot take was refused when it was planned.
        let values = connection.values(database.form).unwrap_or_default();
        (values.into_iter().map(part).collect(), BTreeMap::new())
    } else {
        let keys = database.form.keys().iter();
        let unknown = keys.map(|key| ((*key).to_owned(), UNKNOWN.to_owned()));
        (BTreeMap::new(), unknown.collect())
    };
    let mut metadata = blueprint.owned(name(blueprint.name, database));
    metadata.labels = Some(labels::of_component(blueprint.name, "storage"));
    Some(Secret {
        metadata,
        type_: Some("Opaque".into()),
        immutable: Some(true),
        data: Some(data).filter(|data| !data.is_empty()),
        string_data: Some(unknown).filter(|unknown| !unknown.is_empty()),
    })
}
