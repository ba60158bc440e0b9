//! The Secret with the database's connection string as the server takes it: most have no place for a
//! whole one, so its parts become environment variables that point here.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;

use super::blueprint::Blueprint;
use super::{labels, names};
use crate::wiring::Database;

/// What stands for a value that only the cluster knows. It is clear text, so that nobody takes it
/// for a password.
const UNKNOWN: &str = "(from the connection string, which only the cluster knows)";

pub(super) fn storage_secret(blueprint: &Blueprint) -> Option<Secret> {
    let (data, unknown) = match blueprint.database.as_ref()? {
        Database::Known(connection, form) => {
            let part = |(key, value): (&str, String)| (key.to_owned(), ByteString(value.into()));
            // What a server cannot take was refused when it was planned.
            let values = connection.values(*form).unwrap_or_default();
            (values.into_iter().map(part).collect(), BTreeMap::new())
        }
        Database::Unknown(form) => {
            let unknown = form.keys().iter().map(|key| ((*key).to_owned(), UNKNOWN.to_owned()));
            (BTreeMap::new(), unknown.collect())
        }
    };
    let mut metadata = blueprint.owned(names::storage_secret(blueprint.name));
    metadata.labels = Some(labels::of_component(blueprint.name, "storage"));
    Some(Secret {
        metadata,
        type_: Some("Opaque".into()),
        data: Some(data).filter(|data| !data.is_empty()),
        string_data: Some(unknown).filter(|unknown| !unknown.is_empty()),
        ..Default::default()
    })
}
