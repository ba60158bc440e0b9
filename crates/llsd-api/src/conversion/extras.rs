//! The annotation in which carried entries travel, one per version: it holds what that version says
//! and the other cannot.
//!
//! The value is a compact JSON list. Annotations of one object may hold 256 KiB together; beyond
//! that the API server refuses the write that made them so large, in either version, and the
//! stored object stays as it was.

use serde_json::{Map, Value, json};

use super::carried::Entry;
use super::deep::Reading;
use super::version::Version;

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
    pub(super) blank: Option<Value>,
}

impl Extras {
    /// Reads an annotation of our form; anything else is nothing.
    pub(super) fn parse(version: Version, value: &Value, reading: Reading) -> Option<Self> {
        let items: Vec<Map<String, Value>> = reading.deserialize(value.as_str()?).ok()?;
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

    pub(super) fn foreign(value: Value) -> Self {
        Self { foreign: Some(value), ..Self::default() }
    }

    /// The annotation's value. A foreign value that is alone stands there as it was (`bare`),
    /// unless it would then be read as something else.
    pub(super) fn print(self, version: Version, bare: bool, reading: Reading) -> Value {
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

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.blank.is_none() && self.foreign.is_none()
    }
}
