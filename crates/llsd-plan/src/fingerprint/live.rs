//! Which fields of a live object we own, by its `managedFields`. Their format: `f:` before the
//! name of a field, `k:` before the keys of a list's item, `v:` before an item itself, `i:` before
//! an index; nothing below a path, or a `.` there, means that the path itself is owned.

use serde_json::{Map, Value};

use super::normal::{Normal, Position, is_empty};

/// The field manager of all that the operator applies.
pub const FIELD_MANAGER: &str = "llama-stack-operator";

/// What we own after our last apply.
pub(super) fn applied(live: &Value) -> Option<&Map<String, Value>> {
    let entries = live.get("metadata")?.get("managedFields")?.as_array()?;
    let ours = entries.iter().find(|entry| {
        let is = |field: &str, value: &str| entry.get(field).is_some_and(|given| given == value);
        // An entry with a subresource, as `scale`, is a separate one, even if it is ours.
        is("manager", FIELD_MANAGER)
            && is("operation", "Apply")
            && entry.get("subresource").is_none_or(is_empty)
    });
    ours?.get("fieldsV1")?.as_object()
}

pub(super) fn write(fields: &Map<String, Value>, live: &Value, normal: &mut Normal) {
    write_fields(Position::ROOT, fields, Some(live), normal);
}

fn write_value(
    position: Position,
    fields: &Map<String, Value>,
    live: Option<&Value>,
    normal: &mut Normal,
) {
    match fields.keys().find(|path| *path != ".") {
        None => normal.leaf(position, live),
        Some(path) if path.starts_with("f:") => write_fields(position, fields, live, normal),
        Some(_) => write_items(position, fields, live, normal),
    }
}

fn write_fields(
    position: Position,
    fields: &Map<String, Value>,
    live: Option<&Value>,
    normal: &mut Normal,
) {
    let mut owned: Vec<(&str, &Map<String, Value>)> = fields
        .iter()
        .filter_map(|(path, below)| Some((path.strip_prefix("f:")?, below.as_object()?)))
        .collect();
    owned.sort_unstable_by_key(|(name, _)| *name);
    normal.open_map();
    for (name, below) in owned {
        normal.key(name);
        write_value(position.field(name), below, live.and_then(|live| live.get(name)), normal);
    }
    normal.close();
}

/// Items keep the order in which they live; those of others between them are left out.
fn write_items(
    position: Position,
    fields: &Map<String, Value>,
    live: Option<&Value>,
    normal: &mut Normal,
) {
    normal.open_list();
    for (item, below) in owned_items(fields, live) {
        match below {
            Some(below) => write_value(position, below, Some(item), normal),
            None => normal.whole(position, item),
        }
    }
    normal.close();
}

/// The items of a live list that we own, each with what we own of it; nothing where that is all of it.
pub(super) fn owned_items<'a>(
    fields: &'a Map<String, Value>,
    live: Option<&'a Value>,
) -> impl Iterator<Item = (&'a Value, Option<&'a Map<String, Value>>)> {
    let owned: Vec<(Item, &Map<String, Value>)> = fields
        .iter()
        .filter_map(|(path, below)| Some((Item::parse(path)?, below.as_object()?)))
        .collect();
    let items = live.and_then(Value::as_array).into_iter().flatten().enumerate();
    items.filter_map(move |(index, item)| {
        let (_, below) = owned.iter().find(|(owned, _)| owned.is(index, item))?;
        Some((item, below.keys().any(|path| path != ".").then_some(*below)))
    })
}

/// How an item of a list is identified.
enum Item {
    Keys(Map<String, Value>),
    Itself(Value),
    Index(usize),
}

impl Item {
    fn parse(path: &str) -> Option<Self> {
        let (kind, text) = path.split_once(':')?;
        match kind {
            "k" => serde_json::from_str(text).ok().map(Self::Keys),
            "v" => serde_json::from_str(text).ok().map(Self::Itself),
            "i" => text.parse().ok().map(Self::Index),
            _ => None,
        }
    }

    fn is(&self, index: usize, item: &Value) -> bool {
        match self {
            // A key that is empty is not stored.
            Self::Keys(keys) => keys.iter().all(|(key, value)| {
                item.get(key).map_or_else(|| is_empty(value), |given| given == value)
            }),
            Self::Itself(value) => value == item,
            Self::Index(owned) => *owned == index,
        }
    }
}
