//! Values at paths of field names, such as `/spec/workload/replicas`, in JSON of any shape.

use serde_json::{Map, Value};

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
