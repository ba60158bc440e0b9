//! Which fields we would own after applying an object: the same that the API server would write
//! into `managedFields`.

use serde_json::{Map, Value};

use super::normal::{Normal, Position, in_order};
use super::schema::{self, ListKind};

/// What the server keeps out of `managedFields`: who the object is, and what nobody applies.
const NOT_OWNED: [&str; 3] = ["apiVersion", "kind", "status"];
const NOT_OWNED_METADATA: [&str; 9] = [
    "creationTimestamp",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "name",
    "namespace",
    "resourceVersion",
    "selfLink",
    "uid",
];

pub(super) fn write(object: &Value, normal: &mut Normal) {
    normal.open_map();
    for (name, value) in object.as_object().map(in_order).unwrap_or_default() {
        let position = Position::ROOT.field(name);
        match value {
            Value::Object(metadata) if name == "metadata" => {
                let owned = |name: &str| !NOT_OWNED_METADATA.contains(&name);
                if metadata.iter().any(|(name, value)| owned(name) && !leaves_no_trace(name, value))
                {
                    normal.key(name);
                    write_fields(position, metadata, owned, normal);
                }
            }
            _ if NOT_OWNED.contains(&name) || leaves_no_trace(name, value) => {}
            _ => {
                normal.key(name);
                write_value(position, value, normal);
            }
        }
    }
    normal.close();
}

fn write_value(position: Position, value: &Value, normal: &mut Normal) {
    match value {
        Value::Object(fields) if !fields.is_empty() && !schema::is_atomic_map(position.name) => {
            write_fields(position, fields, |_| true, normal);
        }
        Value::Array(items) => match schema::list_kind(position.name) {
            ListKind::Atomic => normal.leaf(position, Some(value)),
            kind => {
                normal.open_list();
                for item in items {
                    match item {
                        Value::Object(fields) if kind == ListKind::Merged => {
                            write_fields(position, fields, |_| true, normal);
                        }
                        whole => normal.whole(position, whole),
                    }
                }
                normal.close();
            }
        },
        leaf => normal.leaf(position, Some(leaf)),
    }
}

fn write_fields(
    position: Position,
    fields: &Map<String, Value>,
    owned: impl Fn(&str) -> bool,
    normal: &mut Normal,
) {
    normal.open_map();
    for (name, value) in in_order(fields) {
        if owned(name) && !leaves_no_trace(name, value) {
            normal.key(name);
            write_value(position.field(name), value, normal);
        }
    }
    normal.close();
}

/// Nobody owns a merged list that has no items, nor a map that holds only such lists.
fn leaves_no_trace(name: &str, value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty() && schema::list_kind(name) != ListKind::Atomic,
        Value::Object(fields) => {
            !fields.is_empty()
                && !schema::is_atomic_map(name)
                && fields.iter().all(|(name, value)| leaves_no_trace(name, value))
        }
        _ => false,
    }
}
