//! Objects as they are shown to people: without what the API server adds, and of Secrets without the
//! values.

use serde_json::{Value, json};

/// The object without what the API server adds, and of a Secret without its values.
pub(super) fn readable(object: &Value) -> Value {
    let mut readable = object.clone();
    if let Some(object) = readable.as_object_mut() {
        object.shift_remove("status");
    }
    if let Some(metadata) = readable["metadata"].as_object_mut() {
        for field in ["managedFields", "resourceVersion", "uid", "creationTimestamp", "generation"]
        {
            metadata.shift_remove(field);
        }
    }
    readable
}

/// The values of a Secret's `data` in two versions of it, with what they are replaced by a word.
pub(super) fn redact(before: Option<&mut Value>, after: Option<&mut Value>) {
    let values = |object: Option<&Value>| {
        object.and_then(|object| object["data"].as_object().cloned()).unwrap_or_default()
    };
    let (old, new) = (values(before.as_deref()), values(after.as_deref()));
    let hide = |object: Option<&mut Value>, is_new: bool| {
        let Some(data) = object.and_then(|object| object["data"].as_object_mut()) else { return };
        for (key, value) in data {
            let changed = old.get(key) != new.get(key);
            *value = json!(if changed && is_new { "*** (changed)" } else { "***" });
        }
    };
    hide(before, false);
    hide(after, true);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_secret_are_never_shown_and_a_change_still_shows() {
        let mut before = json!({"data": {"same": "YQ==", "other": "Yg=="}});
        let mut after = json!({"data": {"same": "YQ==", "other": "Yw=="}});
        redact(Some(&mut before), Some(&mut after));
        assert_eq!(before, json!({"data": {"same": "***", "other": "***"}}));
        assert_eq!(after, json!({"data": {"same": "***", "other": "*** (changed)"}}));
    }
}
