//! Where carried entries travel: one annotation per version, which holds what that version says
//! and the other cannot. This file takes both off an object and puts both onto one, and leaves
//! every other annotation, and whether there are any at all, as it was.
//!
//! The value is a compact JSON list. Annotations of one object may hold 256 KiB together; beyond
//! that the API server refuses the write that made them so large, in either version, and the
//! stored object stays as it was.

use serde_json::{Map, Value, json};

use super::carried::Entry;
use super::deep::Reading;
use super::{Version, older};

/// What v1alpha1 says and v1alpha2 cannot hold, on a v1alpha2 object.
pub const V1ALPHA1_EXTRAS: &str = "llamastack.io/v1alpha1-extras";

/// What v1alpha2 says and v1alpha1 cannot hold, on a v1alpha1 object. On a v1alpha2 object: what
/// waits there until v1alpha1 gives up what took its place.
pub const V1ALPHA2_EXTRAS: &str = "llamastack.io/v1alpha2-extras";

/// The `path` of the entry that restores an annotations map that is empty or no map.
const ANNOTATIONS: &str = "/metadata/annotations";

pub(super) fn name(version: Version) -> &'static str {
    match version {
        Version::V1Alpha1 => V1ALPHA1_EXTRAS,
        Version::V1Alpha2 => V1ALPHA2_EXTRAS,
    }
}

/// The content of one of the two annotations.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Extras {
    pub(super) entries: Vec<Entry>,
    /// A value that somebody else had put under this name.
    pub(super) foreign: Option<Value>,
    /// What `metadata.annotations` is when nothing is carried, if it is neither absent nor a map
    /// with other annotations in it.
    blank: Option<Value>,
}

impl Extras {
    /// Reads an annotation of our form; anything else is nothing.
    pub(super) fn parse(version: Version, value: &Value, reading: Reading) -> Option<Self> {
        let items: Vec<Map<String, Value>> = reading.read(value.as_str()?).ok()?;
        let mut extras = Self::default();
        for mut item in items {
            if let Some(foreign) = item.shift_remove("kept") {
                extras.foreign = Some(foreign);
            } else if item.get("path").and_then(Value::as_str) == Some(ANNOTATIONS) {
                extras.blank = item.shift_remove("is");
            } else {
                let entry = Entry {
                    path: item.get("path")?.as_str()?.to_owned(),
                    was: item.shift_remove("was"),
                    is: item.shift_remove("is"),
                    beside: item.shift_remove("beside"),
                };
                extras.entries.push(entry);
            }
        }
        extras.entries.iter().all(|entry| entry.is_possible(version)).then_some(extras)
    }

    fn foreign(value: Value) -> Self {
        Self { foreign: Some(value), ..Self::default() }
    }

    /// The annotation's value. A foreign value that is alone stands there as it was (`bare`),
    /// unless it would then be read as something else.
    fn print(self, version: Version, bare: bool, reading: Reading) -> Value {
        if let (true, [], None, Some(foreign)) = (bare, &*self.entries, &self.blank, &self.foreign)
            && Self::parse(version, foreign, reading).is_none()
        {
            return foreign.clone();
        }
        let mut items = Vec::new();
        for entry in self.entries {
            let mut item = Map::new();
            item.insert("path".to_owned(), Value::String(entry.path));
            for (key, value) in [("was", entry.was), ("is", entry.is), ("beside", entry.beside)] {
                if let Some(value) = value {
                    item.insert(key.to_owned(), value);
                }
            }
            items.push(Value::Object(item));
        }
        items.extend(self.blank.map(|blank| json!({"path": ANNOTATIONS, "is": blank})));
        items.extend(self.foreign.map(|foreign| json!({"kept": foreign})));
        Value::String(Value::Array(items).to_string())
    }

    fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.blank.is_none() && self.foreign.is_none()
    }
}

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
            None => older::read(to, about_to, annotations, sections),
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
