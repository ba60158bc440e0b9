//! Names of objects inside of others, where a name stands for a content that is another one by now.

use serde_json::Value;

/// Puts one text in the place of another, wherever that stands alone.
pub(super) fn rename(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) if text == from => to.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, from, to)),
        Value::Object(fields) => fields.values_mut().for_each(|field| rename(field, from, to)),
        _ => {}
    }
}
