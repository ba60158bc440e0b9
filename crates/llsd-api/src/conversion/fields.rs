//! Moving fields from one version's places to the other's, and what that alone yields: an object
//! with the target's schema defaults and without anything that only one version can say.

use serde_json::{Map, Value};

use super::Version;
use super::table::{ROWS, SECTIONS, defaults};

/// The sections of `source` as version `to` has them. Total: what has the wrong shape to hold a
/// field holds none, and a section that is no object is passed on as it is.
pub(super) fn moved(source: &Value, to: Version) -> Value {
    let mut target = Value::Object(Map::new());
    for section in SECTIONS {
        if let Some(value) = source.get(section) {
            target[section] = match value {
                Value::Object(_) => Value::Object(Map::new()),
                other => other.clone(),
            };
        }
    }
    for row in ROWS {
        let value = at(source, row.path(to.other()));
        if let Some(value) = value.and_then(|value| row.express(value, to)) {
            let (container, key) = split(row.path(to));
            open(&mut target, container).and_then(|object| object.insert(key.to_owned(), value));
        }
    }
    for (container, key, value) in defaults(to) {
        if let Some(Value::Object(container)) = at_mut(&mut target, container) {
            container.entry(*key).or_insert_with(value);
        }
    }
    target
}

/// The value at a path of field names. Unlike a JSON pointer it never looks into lists.
pub(super) fn at<'v>(root: &'v Value, path: &str) -> Option<&'v Value> {
    keys(path).try_fold(root, |value, key| value.as_object()?.get(key))
}

pub(super) fn at_mut<'v>(root: &'v mut Value, path: &str) -> Option<&'v mut Value> {
    keys(path).try_fold(root, |value, key| value.as_object_mut()?.get_mut(key))
}

/// The object at a path, made if nothing is there, as are those that lead to it. Nothing where
/// something else than an object is in the way.
pub(super) fn open<'v>(root: &'v mut Value, path: &str) -> Option<&'v mut Map<String, Value>> {
    keys(path).try_fold(root.as_object_mut()?, |object, key| {
        object.entry(key).or_insert_with(|| Value::Object(Map::new())).as_object_mut()
    })
}

/// A path's container and the last field name.
pub(super) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or((path, ""))
}

fn keys(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').skip(1)
}
