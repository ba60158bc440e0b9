//! Storage since 0.3: a section with backends, and stores that name them.

use serde_json::json;

use super::backend::{Target, connection, distro_name};
use crate::config::draft::Draft;
use crate::problems::FieldPath;
use crate::releases::StoreKind;
use llsd_yaml::document::{Node, Origin};

pub(super) fn set(draft: &mut Draft<'_>, kind: StoreKind, target: &Target, path: &FieldPath) {
    ensure_section(draft);
    let distro = distro_name(&draft.document);
    let profile = draft.profile;
    let rule = Origin::Rule("storage needs a backend");
    let backends = draft.document.entry_map("storage", &rule).entry_map("backends", &rule);
    let mut names: Vec<String> = backends
        .fields()
        .iter()
        .filter(|(_, backend)| {
            backend.get_str("type").is_some_and(|name| name.starts_with(kind.prefix()))
        })
        .map(|(name, _)| name.clone())
        .collect();
    if names.is_empty() {
        names.push(kind.default_backend().to_owned());
    }
    for name in names {
        let fits = matches!(target, Target::Sqlite)
            && backends.get(&name).and_then(|backend| backend.get_str("type"))
                == Some(&format!("{}sqlite", kind.prefix()));
        if !fits {
            let mut backend = connection(kind, target, &profile, &distro, &name);
            backend["type"] = format!("{}{}", kind.prefix(), target.name()).into();
            let backend = Node::from_value(backend, &Origin::Field(path.clone()));
            backends.set(&name, backend);
        }
    }
}

/// The section as the server itself would default it, where the base leaves it out.
pub(in crate::config) fn ensure_section(draft: &mut Draft<'_>) {
    let profile = draft.profile;
    let rule = Origin::Rule("the server's own default, written out");
    let storage = draft.document.entry_map("storage", &rule);
    if storage.get("backends").is_none_or(|backends| backends.fields().is_empty()) {
        let mut backends = serde_json::Map::new();
        for kind in [StoreKind::Kv, StoreKind::Sql] {
            let name = kind.default_backend();
            // Its own files lie beside the distributions' folders, not in one of them.
            let mut backend = connection(kind, &Target::Sqlite, &profile, "", name);
            backend["type"] = format!("{}sqlite", kind.prefix()).into();
            backends.insert(name.to_owned(), backend);
        }
        storage.set("backends", Node::from_value(backends.into(), &rule));
    }
    if storage.get("stores").is_none_or(|stores| stores.fields().is_empty()) {
        let mut stores = json!({
            "metadata": {"namespace": "registry", "backend": "kv_default"},
            "inference": {"table_name": "inference_store", "backend": "sql_default"},
            "conversations": {"table_name": "openai_conversations", "backend": "sql_default"},
            "responses": {"table_name": "responses", "backend": "sql_default"},
        });
        for store in ["prompts", "connectors"] {
            match profile.layout.store(store) {
                Some(StoreKind::Kv) => {
                    stores[store] = json!({"namespace": store, "backend": "kv_default"});
                }
                Some(StoreKind::Sql) => {
                    stores[store] = json!({"table_name": store, "backend": "sql_default"});
                }
                None => {}
            }
        }
        storage.set("stores", Node::from_value(stores, &rule));
    }
}
