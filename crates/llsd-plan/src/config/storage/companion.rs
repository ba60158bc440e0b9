//! What the catalogue fills in for a provider, in the terms of the base that it is filled into.

use serde_json::Value;

use super::backend::{distro_name, state_directory};
use crate::config::draft::Draft;
use crate::releases::StoreKind;
use llsd_yaml::document::Node;

/// A value of the catalogue with the base's own names: its state directory, and a backend that it
/// has where it has no `kv_default` or `sql_default`. A provider that is not the only one of its
/// type has a place of its own, which `own` names.
pub(in crate::config) fn companion(draft: &Draft<'_>, value: &Value, own: Option<&str>) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(key, value)| {
                    let value = match (key.as_str(), value.as_str(), own) {
                        ("backend", Some(name), _) => backend_name(&draft.document, name).into(),
                        ("namespace", Some(name), Some(own)) => format!("{name}::{own}").into(),
                        ("table_name", Some(name), Some(own)) => {
                            let own = own.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
                            format!("{name}_{own}").into()
                        }
                        _ => companion(draft, value, own),
                    };
                    (key.clone(), value)
                })
                .collect(),
        ),
        Value::String(text) => {
            let state = state_directory(&draft.profile, &distro_name(&draft.document));
            let text =
                text.replace(":=", &draft.profile.layout.default_sign).replace("STATE", &state);
            match (text.strip_suffix(".db"), own) {
                (Some(file), Some(own)) => format!("{file}-{own}.db").into(),
                _ => text.into(),
            }
        }
        other => other.clone(),
    }
}

fn backend_name(document: &Node, wanted: &str) -> String {
    let backends = document.at(&["storage", "backends"]).map(Node::fields).unwrap_or_default();
    let kind = if wanted.starts_with("kv_") { StoreKind::Kv } else { StoreKind::Sql };
    let fits = |backend: &Node| {
        backend.get_str("type").is_some_and(|name| name.starts_with(kind.prefix()))
    };
    match backends.iter().find(|(name, _)| name == wanted) {
        Some(_) => wanted.to_owned(),
        None => backends
            .iter()
            .find(|(_, backend)| fits(backend))
            .map_or_else(|| wanted.to_owned(), |(name, _)| name.clone()),
    }
}
