//! One object from one version to the other: its fields moved as the table says, and around that
//! what was carried for one version taken in and what the other cannot hold handed on.

use serde_json::{Map, Value};

use super::annotations;
use super::carried::{difference, restore, still_waiting};
use super::deep::Reading;
use super::paths::{at, at_mut, open, split};
use super::table::{
    CONTAINER_NAME, DEFAULT_CONTAINER_NAME, ROWS, SECTIONS, defaults, is_container, v1alpha1_field,
};
use super::version::Version;
use crate::KIND;

/// The object in version `to`. What is in that version already, or is not ours, comes back
/// unchanged.
pub fn convert(object: Value, to: Version) -> Value {
    convert_reading(object, to, Reading::Usual)
}

pub(super) fn convert_reading(object: Value, to: Version, reading: Reading) -> Value {
    match Version::from_object(&object) {
        Some(version) if version != to => exchange(object, to, reading),
        _ => object,
    }
}

/// A v1alpha1 object as v1alpha2.
pub fn up(object: Value) -> Value {
    exchange(object, Version::V1Alpha2, Reading::Usual)
}

/// A v1alpha2 object as v1alpha1.
pub fn down(object: Value) -> Value {
    exchange(object, Version::V1Alpha1, Reading::Usual)
}

/// The name that a v1alpha1 object gave to the server's container, if it is not the usual one.
/// v1alpha2 has no field for it, but the name of a running container must stay.
pub fn carried_container_name(object: &Value) -> Option<String> {
    // In v1alpha2 it travels in an annotation, and without any there is no need to convert.
    if Version::from_object(object) == Some(Version::V1Alpha2) {
        object.pointer("/metadata/annotations")?;
    }
    let object = convert(object.clone(), Version::V1Alpha1);
    let name = at(&object, CONTAINER_NAME)?.as_str()?;
    (!name.is_empty() && name != DEFAULT_CONTAINER_NAME).then(|| name.to_owned())
}

/// What only v1alpha2 has a field for, and a v1alpha1 object no longer says that says less than it
/// did: v1alpha2 fields of the spec, such as `spec.providers`.
pub fn dropped(old: &Value, new: &Value) -> Vec<String> {
    let [old, new] = [old, new].map(|object| up(object.clone()));
    let mut dropped = Vec::new();
    let mut rest = vec![("/spec".to_owned(), old.get("spec"), new.get("spec"))];
    while let Some((path, old, new)) = rest.pop() {
        let is_container = is_container(Version::V1Alpha2, &path);
        // What v1alpha1 has a field for was taken away on purpose, and what it held with it.
        if old == new || (v1alpha1_field(&path).is_some() && (new.is_none() || !is_container)) {
            continue;
        }
        match old {
            Some(Value::Object(fields)) if is_container => {
                for (field, value) in fields {
                    let now = new.and_then(|new| new.get(field));
                    rest.push((format!("{path}/{field}"), Some(value), now));
                }
            }
            Some(_) => dropped.push(path[1..].replace('/', ".")),
            None => {}
        }
    }
    dropped.sort();
    dropped
}

fn exchange(mut object: Value, to: Version, reading: Reading) -> Value {
    let Value::Object(root) = &mut object else {
        return object;
    };
    root.insert("apiVersion".to_owned(), to.api_version().into());
    root.insert("kind".to_owned(), KIND.into());

    let from = to.other();
    let mut source = take_sections(root);
    let mut luggage = match root.get_mut("metadata") {
        Some(Value::Object(metadata)) => annotations::take(metadata, &mut source, to, reading),
        _ => annotations::Luggage::default(),
    };

    let mut target = moved(&source, to);
    luggage.to.entries = restore(to, &mut target, luggage.to.entries);
    let plain = moved(&target, from);
    let waiting = still_waiting(from, luggage.from.entries, &plain, &source);
    luggage.from.entries = difference(from, &plain, &source);
    luggage.from.entries.extend(waiting);

    if let Some(Value::Object(metadata)) = root.get_mut("metadata") {
        annotations::put(metadata, luggage, &target, to, reading);
    }
    put_sections(root, target);
    object
}

/// The sections of `source` as version `to` has them. Total: what has the wrong shape to hold a
/// field holds none, and a section that is no object is passed on as it is.
fn moved(source: &Value, to: Version) -> Value {
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

/// Takes the values out and leaves their places, so that the order of an object's parts stays.
fn take_sections(root: &mut Map<String, Value>) -> Value {
    let sections = SECTIONS.iter().filter_map(|name| {
        let section = root.get_mut(*name)?.take();
        Some(((*name).to_owned(), section))
    });
    Value::Object(sections.collect())
}

fn put_sections(root: &mut Map<String, Value>, sections: Value) {
    if let Value::Object(sections) = sections {
        root.extend(sections);
    }
}
