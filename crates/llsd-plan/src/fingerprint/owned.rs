//! What we applied to a live object, as a value that can be applied again: the fields that we own by its
//! `managedFields`, with what they hold now.

use serde_json::{Map, Value, json};

use super::live::owned_items;
use super::schema;

/// The part of `live` below the field `name` that these paths name.
pub(super) fn value(
    name: &str,
    fields: &Map<String, Value>,
    live: Option<&Value>,
) -> Option<Value> {
    match fields.keys().find(|path| *path != ".") {
        None => match live {
            // We own that the map is there; what is in it is of others, or of the server.
            Some(Value::Object(_)) if !schema::is_atomic_map(name) => Some(json!({})),
            Some(value) => Some(value.clone()),
            // An empty text is not stored.
            None if name == "value" => Some(json!("")),
            None => None,
        },
        Some(path) if path.starts_with("f:") => Some(of_map(fields, live)),
        Some(_) => Some(of_list(name, fields, live)),
    }
}

fn of_map(fields: &Map<String, Value>, live: Option<&Value>) -> Value {
    let owned = fields.iter().filter_map(|(path, below)| {
        let name = path.strip_prefix("f:")?;
        let held = value(name, below.as_object()?, live.and_then(|live| live.get(name)))?;
        Some((name.to_owned(), held))
    });
    Value::Object(owned.collect())
}

/// Items keep the order in which they live.
fn of_list(name: &str, fields: &Map<String, Value>, live: Option<&Value>) -> Value {
    let held = owned_items(fields, live).filter_map(|(item, below)| match below {
        Some(below) => value(name, below, Some(item)),
        None => Some(item.clone()),
    });
    held.collect()
}
