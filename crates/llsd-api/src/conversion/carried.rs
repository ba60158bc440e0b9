//! What one version says and the other cannot hold, as differences: each entry names a field, what
//! the other version's object alone would make of it, and what it really is.
//!
//! An entry is put back only where the first of the two still holds. So a change that was made
//! through the other version wins over what was carried, for that field and for no other.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::paths::{at, at_mut, open, split};
use super::table::{
    EXPOSE, GENERATED_CONFIG, OVERRIDE_CONFIG, SECTIONS, default_at, is_container, longer_name,
    presence_counts,
};
use super::version::Version;

/// One field that conversion alone would not bring back. Absent and null are different things.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    /// A JSON pointer.
    pub(super) path: String,
    /// What moving the other version's fields yields here.
    pub(super) was: Option<Value>,
    /// What belongs here.
    pub(super) is: Option<Value>,
    /// What stood beside the field in the place on which it depends (see [`neighbour`]): an
    /// `overrideConfig` beside a section that it excludes, the longer spelling beside the shorter one.
    pub(super) beside: Option<Value>,
}

/// What becomes of an entry.
#[derive(PartialEq, Eq)]
enum Fate {
    Applies,
    /// It has no place now and gets it back when what took it is gone.
    Waits,
    /// The field has changed through the other version.
    Stale,
}

/// The entries that turn `plain` into `actual`, in the order in which they must be applied.
pub(super) fn difference(version: Version, plain: &Value, actual: &Value) -> Vec<Entry> {
    let mut walk = Walk { version, plain, entries: Vec::new() };
    for section in SECTIONS {
        walk.compare(&format!("/{section}"), plain.get(section), actual.get(section));
    }
    walk.entries
}

struct Walk<'v> {
    version: Version,
    plain: &'v Value,
    entries: Vec<Entry>,
}

impl Walk<'_> {
    fn compare(&mut self, path: &str, was: Option<&Value>, is: Option<&Value>) {
        if was == is {
            return;
        }
        let objects = [was, is].iter().flatten().any(|value| value.is_object());
        if !objects || !is_container(self.version, path) {
            self.note(path, was.cloned(), is.cloned());
            return;
        }
        let before = was.and_then(Value::as_object);
        let after = is.and_then(Value::as_object);
        for (key, value) in sorted(before) {
            if !after.is_some_and(|after| after.contains_key(key)) {
                self.compare(&child(path, key), Some(value), None);
            }
        }
        // Objects that only lead to fields are made on the way to the first of them.
        let implied = was.is_none()
            && after.is_some_and(|after| !after.is_empty())
            && !presence_counts(self.version, path);
        if hollow(was) != hollow(is) && !implied {
            self.note(path, hollow(was), hollow(is));
        }
        for (key, value) in sorted(after) {
            let old = before.and_then(|before| before.get(key));
            self.compare(&child(path, key), old, Some(value));
        }
    }

    fn note(&mut self, path: &str, was: Option<Value>, is: Option<Value>) {
        let beside = neighbour(path).and_then(|place| at(self.plain, place)).cloned();
        self.entries.push(Entry { path: path.to_owned(), was, is, beside });
    }
}

/// An object's fields by name, so that equal objects have equal entries.
fn sorted(object: Option<&Map<String, Value>>) -> Vec<(&String, &Value)> {
    let mut fields: Vec<_> = object.into_iter().flatten().collect();
    fields.sort_unstable_by_key(|(key, _)| *key);
    fields
}

/// A value without its fields, if it is an object.
fn hollow(value: Option<&Value>) -> Option<Value> {
    value.map(|value| match value {
        Value::Object(_) => json!({}),
        other => other.clone(),
    })
}

fn child(path: &str, key: &str) -> String {
    if key.contains(['~', '/']) {
        let key = key.replace('~', "~0").replace('/', "~1");
        format!("{path}/{key}")
    } else {
        format!("{path}/{key}")
    }
}

fn excluded_by_override(path: &str) -> bool {
    GENERATED_CONFIG.contains(&path)
}

/// The place of v1alpha2 on whose value it depends whether an entry for `path` can be put back. A
/// stored object that has both comes back as it was, and none is made that has both.
fn neighbour(path: &str) -> Option<&'static str> {
    if excluded_by_override(path) { Some(OVERRIDE_CONFIG) } else { longer_name(path) }
}

/// Puts the entries back into an object whose fields were just moved, and returns those that wait.
pub(super) fn restore(version: Version, target: &mut Value, entries: Vec<Entry>) -> Vec<Entry> {
    let neighbours: Vec<Option<Value>> =
        entries.iter().map(|entry| at(target, neighbour(&entry.path)?).cloned()).collect();
    let mut waiting = Vec::new();
    for (entry, neighbour) in entries.into_iter().zip(neighbours) {
        match entry.fate(version, target, neighbour.as_ref()) {
            Fate::Applies => entry.apply(target),
            Fate::Waits => waiting.push(entry),
            Fate::Stale => {}
        }
    }
    waiting
}

/// Of the entries that lie on an object of their own version, those that still wait there. The
/// others were overtaken by a change in this version, which needs no carrying.
pub(super) fn still_waiting(
    version: Version,
    mut entries: Vec<Entry>,
    plain: &Value,
    actual: &Value,
) -> Vec<Entry> {
    entries.retain(|entry| {
        let neighbour = neighbour(&entry.path).and_then(|place| at(plain, place));
        entry.fate(version, actual, neighbour) == Fate::Waits
    });
    entries
}

impl Entry {
    pub(super) fn new(path: &str, was: Option<Value>, is: Option<Value>) -> Self {
        Self { path: path.to_owned(), was, is, beside: None }
    }

    /// Whether conversion could have written an entry for this path. Only such paths are followed,
    /// so that no annotation reaches a name, an apiVersion or a depth that overflows the stack.
    pub(super) fn is_possible(&self, version: Version) -> bool {
        is_container(version, split(&self.path).0)
    }

    fn fate(&self, version: Version, object: &Value, neighbour: Option<&Value>) -> Fate {
        // Server-side apply asks for conversions of objects that have lost their spec for a
        // moment; what they carry is still needed.
        if self.path.starts_with("/spec/") && !object.get("spec").is_some_and(Value::is_object) {
            return Fate::Waits;
        }
        let (container, _) = split(&self.path);
        let holder = at(object, container);
        let now = holder.and_then(|holder| holder.as_object()?.get(&*self.key()));
        // Details of an exposure that was switched off: they must not switch it on again.
        if self.path == EXPOSE
            && self.was == Some(Value::Bool(true))
            && matches!(now, None | Some(Value::Bool(false)))
        {
            return Fate::Waits;
        }
        if !self.fits(version, now) || (holder.is_none() && presence_counts(version, container)) {
            return Fate::Stale;
        }
        if neighbour == self.beside.as_ref() {
            Fate::Applies
        } else if excluded_by_override(&self.path) {
            // What excluded it is gone, or another one.
            if neighbour.is_some() { Fate::Waits } else { Fate::Applies }
        } else {
            Fate::Stale
        }
    }

    /// Whether the field is as it was. Absent and the schema's default are the same here: which of
    /// them it is depends on whether a neighbour is set.
    fn fits(&self, version: Version, now: Option<&Value>) -> bool {
        match (&self.was, now) {
            (None, None) => true,
            (Some(was), Some(now)) => was == now,
            (Some(one), None) | (None, Some(one)) => {
                default_at(version, &self.path).as_ref() == Some(one)
            }
        }
    }

    fn apply(self, target: &mut Value) {
        let key = self.key().into_owned();
        let (container, _) = split(&self.path);
        if let Some(value) = self.is {
            open(target, container).and_then(|holder| holder.insert(key, value));
        } else if let Some(Value::Object(holder)) = at_mut(target, container) {
            holder.shift_remove(&key);
        }
    }

    fn key(&self) -> Cow<'_, str> {
        let (_, key) = split(&self.path);
        if key.contains('~') {
            Cow::Owned(key.replace("~1", "/").replace("~0", "~"))
        } else {
            Cow::Borrowed(key)
        }
    }
}
