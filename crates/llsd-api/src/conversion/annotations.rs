//! Takes the annotations with carried entries off an object and puts them onto one, and leaves every
//! other annotation, and whether there are any at all, as it was.

use serde_json::{Map, Value, json};

use super::deep::Reading;
use super::extras::{Extras, name};
use super::older;
use super::version::Version;

/// Both annotations of an object on its way from one version to the other.
#[derive(Debug, Default)]
pub(super) struct Luggage {
    /// About the version that the object leaves.
    pub(super) from: Extras,
    /// About the version that it becomes.
    pub(super) to: Extras,
}

/// Takes both annotations off an object that becomes version `to`. Older spellings are read into
/// its sections and into the entries.
pub(super) fn take(
    metadata: &mut Map<String, Value>,
    sections: &mut Value,
    to: Version,
    reading: Reading,
) -> Luggage {
    let Some(Value::Object(annotations)) = metadata.get_mut("annotations") else {
        return Luggage::default();
    };
    let count = annotations.len();
    let [about_from, about_to] = [to.other(), to].map(|v| annotations.shift_remove(name(v)));
    let mut luggage = Luggage {
        from: match about_from {
            Some(value) => {
                Extras::parse(to.other(), &value, reading).unwrap_or(Extras::foreign(value))
            }
            None => Extras::default(),
        },
        to: match about_to.as_ref().and_then(|v| Extras::parse(to, v, reading)) {
            Some(extras) => extras,
            None => older::take_extras(to, about_to, annotations, sections),
        },
    };
    luggage.from.blank = None;
    let blank = luggage.to.blank.take();
    if annotations.len() < count && annotations.is_empty() {
        match blank {
            Some(blank) => metadata.insert("annotations".to_owned(), blank),
            None => metadata.shift_remove("annotations"),
        };
    }
    luggage
}

/// Puts both annotations onto an object that has become version `to`, where there is something to
/// carry.
pub(super) fn put(
    metadata: &mut Map<String, Value>,
    mut luggage: Luggage,
    sections: &Value,
    to: Version,
    reading: Reading,
) {
    let from = to.other();
    let annotations = metadata.get("annotations");
    // Our form, even if empty, says that annotations which look like older spellings are none.
    let marked = annotations.is_some_and(|a| older::would_read(from, a, sections));
    if luggage.from.is_empty() && luggage.to.is_empty() && !marked {
        return;
    }
    if !matches!(annotations, Some(Value::Object(others)) if !others.is_empty()) {
        luggage.from.blank = annotations.cloned();
        metadata.insert("annotations".to_owned(), json!({}));
    }
    let bare = !marked && !older::would_read_value(from, luggage.from.foreign.as_ref(), sections);
    let annotations = &mut metadata["annotations"];
    if marked || !luggage.from.is_empty() {
        annotations[name(from)] = luggage.from.print(from, bare, reading);
    }
    if !luggage.to.is_empty() {
        annotations[name(to)] = luggage.to.print(to, true, reading);
    }
}
