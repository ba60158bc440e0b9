//! Early drafts of this API had providers, resources and the like under v1alpha1's `spec.server`.
//! No API server ever had such a version; files of that form exist, and here they are understood.

use serde_json::{Map, Value};

use super::migrated::{DecisionKind, Migrated};
use crate::problems::FieldPath;

/// Fields that a draft has under `spec.server` and v1alpha2 under `spec`.
const SECTIONS: [&str; 4] = ["providers", "resources", "disabled", "externalProviders"];
/// What a draft's `spec.server.storage` says of databases; a volume's size is v1alpha1's own.
const DATABASE: [&str; 6] = ["type", "connectionString", "endpoint", "password", "kv", "sql"];

/// A draft taken apart.
#[derive(Clone, Debug)]
pub struct Lifted {
    /// What v1alpha1 has fields for.
    pub rest: Value,
    /// Fields of the draft: where they stand in the source, where in v1alpha2, and their values.
    pub parts: Vec<(FieldPath, FieldPath, Value)>,
}

/// Takes the fields of a draft out of a v1alpha1 resource.
pub fn lift(source: &Value) -> Lifted {
    let mut lifted = Lifted { rest: source.clone(), parts: Vec::new() };
    let from = FieldPath::spec().key("server");
    let Some(server) = lifted.rest.pointer_mut("/spec/server").and_then(Value::as_object_mut)
    else {
        return lifted;
    };
    for section in SECTIONS {
        if let Some(value) = server.shift_remove(section) {
            lifted.parts.push((from.key(section), FieldPath::spec().key(section), value));
        }
    }
    lifted.parts.extend(databases(server));
    lifted
}

fn databases(server: &mut Map<String, Value>) -> Vec<(FieldPath, FieldPath, Value)> {
    let from = FieldPath::spec().key("server").key("storage");
    let Some(Value::Object(storage)) = server.get_mut("storage") else { return Vec::new() };
    let redis = storage.get("type").and_then(Value::as_str) == Some("redis");
    let mut parts = Vec::new();
    for field in DATABASE {
        let Some(value) = storage.shift_remove(field) else { continue };
        let to = FieldPath::spec().key("storage");
        let to = match field {
            "kv" | "sql" => to.key(field),
            _ => to.key(if redis { "kv" } else { "sql" }).key(field),
        };
        parts.push((from.key(field), to, value));
    }
    // An empty `storage` would ask for a volume.
    if storage.is_empty() && !parts.is_empty() {
        server.shift_remove("storage");
    }
    parts
}

/// Puts the fields of a draft where v1alpha2 has them.
pub(super) fn put(migrated: &mut Migrated, parts: Vec<(FieldPath, FieldPath, Value)>) {
    for (from, to, value) in parts {
        let keys: Vec<String> = to.segments().iter().map(ToString::to_string).collect();
        let Some((last, containers)) = keys.split_last() else { continue };
        let mut holder = &mut migrated.object;
        for key in containers {
            if !holder[key.as_str()].is_object() {
                holder[key.as_str()] = Value::Object(Map::new());
            }
            holder = &mut holder[key.as_str()];
        }
        holder[last.as_str()] = value;
        migrated.decide(from.clone(), DecisionKind::Moved, format!("→ {to}"));
        migrated.moved(from, to);
    }
}
