//! What we applied to a live object, as a value that can be applied again: the fields that we own by its
//! `managedFields`, with what they hold now.

use serde_json::{Map, Value, json};

use super::live::Item;
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
    let owned: Vec<(Item, &Map<String, Value>)> = fields
        .iter()
        .filter_map(|(path, below)| Some((Item::parse(path)?, below.as_object()?)))
        .collect();
    let items = live.and_then(Value::as_array).into_iter().flatten().enumerate();
    let held = items.filter_map(|(index, item)| {
        let (_, below) = owned.iter().find(|(owned, _)| owned.is(index, item))?;
        if below.keys().any(|path| path != ".") {
            value(name, below, Some(item))
        } else {
            Some(item.clone())
        }
    });
    held.collect()
}
