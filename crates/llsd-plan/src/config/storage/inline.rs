//! Storage up to 0.2.24, where there is no storage section: the registry, the inference log and
//! every provider have a store of their own, written out in their configuration.

use super::backend::{Target, connection, distro_name};
use crate::config::draft::{Draft, entry_id};
use crate::problems::FieldPath;
use crate::releases::StoreKind;
use llsd_yaml::document::{Node, Origin};

/// Fields of providers that hold a store, by kind.
const PROVIDER_STORES: [(&str, StoreKind); 4] = [
    ("kvstore", StoreKind::Kv),
    ("persistence_store", StoreKind::Kv),
    ("responses_store", StoreKind::Sql),
    ("metadata_store", StoreKind::Sql),
];

pub(super) fn set(draft: &mut Draft<'_>, kind: StoreKind, target: &Target, path: &FieldPath) {
    let profile = draft.profile;
    let distro = distro_name(&draft.document);
    let store = |name: &str| {
        let mut store = connection(kind, target, &profile, &distro, name);
        store["type"] = target.name().into();
        if matches!(target, Target::Redis { .. }) {
            // In files of their own the stores could not meet; in one Redis they would.
            store["namespace"] = name.into();
        }
        Node::from_value(store, &Origin::Field(path.clone()))
    };
    let top = match kind {
        StoreKind::Kv => ("metadata_store", "registry"),
        StoreKind::Sql => ("inference_store", "inference_store"),
    };
    if !already(draft.document.get(top.0), target) {
        draft.document.set(top.0, store(top.1));
    }
    let Some(providers) = draft.document.get_mut("providers") else { return };
    for (api, entries) in providers.fields_mut() {
        for entry in entries.list_items() {
            let id = entry_id(entry).map(|id| id.id).unwrap_or_default();
            let Some(config) = entry.get_mut("config") else { continue };
            for (field, of) in PROVIDER_STORES {
                if of == kind
                    && config
                        .get(field)
                        .is_some_and(|own| is_store(own) && !is_of_the_resource(own))
                    && !already(config.get(field), target)
                {
                    config.set(field, store(&format!("{api}_{id}_{field}")));
                }
            }
        }
    }
}

fn is_store(node: &Node) -> bool {
    node.get("type").is_some() || node.get("db_path").is_some()
}

/// What the settings of a provider say stays.
fn is_of_the_resource(node: &Node) -> bool {
    matches!(node.origin, Origin::Field(_))
}

/// SQLite stays in the files where it is.
fn already(store: Option<&Node>, target: &Target) -> bool {
    matches!(target, Target::Sqlite)
        && store.is_some_and(|store| store.get_str("type") == Some("sqlite"))
}
