//! Conversion between `llamastack.io/v1alpha1` and `v1alpha2`: the pure part of the webhook.
//!
//! It works on JSON and is total. One object that cannot be converted makes every list and watch
//! of that version fail, for all users; so there is no error here, and nothing is too malformed:
//! what has no place in the other version travels in an annotation and comes back.
//!
//! - `table` says which field is which, as data;
//! - `fields` moves them;
//! - `carried` finds what moving alone would lose, and puts it back;
//! - `annotations` is where that travels, and `older` the spellings it once had;
//! - `review` answers a whole `ConversionReview`, and `deep` reads what is nested beyond measure.
//!
//! # What holds
//! - There and back, in either direction, yields the object as it was, also when the API server
//!   has filled in its schema defaults in between.
//! - A change made through one version wins over what was carried for the other, and loses
//!   nothing else.
//! - `overrideConfig` never appears beside a section that it excludes, unless the stored object
//!   had both: what v1alpha1's `userConfig` displaces waits in the annotation, and returns with
//!   its removal. The details of an exposure wait in the same way while `exposeRoute` is false.
//! - Metadata other than annotations is never touched. An object whose metadata is no object has
//!   nowhere to carry anything.

mod annotations;
mod carried;
mod deep;
mod fields;
mod older;
pub mod review;
mod table;

use serde_json::{Map, Value};

use crate::KIND;
pub use annotations::{V1ALPHA1_EXTRAS, V1ALPHA2_EXTRAS};
use carried::{difference, restore, still_waiting};
use deep::Reading;
pub use deep::nesting;
use fields::{at, moved};
use table::{CONTAINER_NAME, DEFAULT_CONTAINER_NAME, SECTIONS};

/// A version of the resource that the API server serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    V1Alpha1,
    V1Alpha2,
}

impl Version {
    pub const ALL: [Self; 2] = [Self::V1Alpha1, Self::V1Alpha2];

    pub fn api_version(self) -> &'static str {
        match self {
            Self::V1Alpha1 => "llamastack.io/v1alpha1",
            Self::V1Alpha2 => "llamastack.io/v1alpha2",
        }
    }

    /// The version that a `desiredAPIVersion` or an object's `apiVersion` names.
    pub fn from_api_version(api_version: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.api_version() == api_version)
    }

    /// The version of an object, if it is of our kind.
    pub fn of(object: &Value) -> Option<Self> {
        let ours = object.get("kind")?.as_str()? == KIND;
        Self::from_api_version(object.get("apiVersion")?.as_str()?).filter(|_| ours)
    }

    fn other(self) -> Self {
        match self {
            Self::V1Alpha1 => Self::V1Alpha2,
            Self::V1Alpha2 => Self::V1Alpha1,
        }
    }
}

/// The object in version `to`. What is in that version already, or is not ours, comes back
/// unchanged.
pub fn convert(object: Value, to: Version) -> Value {
    convert_reading(object, to, Reading::Usual)
}

fn convert_reading(object: Value, to: Version, reading: Reading) -> Value {
    match Version::of(&object) {
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

/// The v1alpha1 field that the v1alpha2 field at this JSON pointer comes from, so that findings on
/// a converted object can be told in the fields that its author wrote.
pub fn v1alpha1_field(v1alpha2: &str) -> Option<&'static str> {
    table::v1alpha1_field(v1alpha2)
}

/// The name that a v1alpha1 object gave to the server's container, if it is not the usual one.
/// v1alpha2 has no field for it, but the name of a running container must stay.
pub fn carried_container_name(object: &Value) -> Option<String> {
    // In v1alpha2 it travels in an annotation, and without any there is no need to convert.
    if Version::of(object) == Some(Version::V1Alpha2) {
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
        if old == new || v1alpha1_field(&path).is_some() {
            continue;
        }
        match old {
            Some(Value::Object(fields)) if table::is_container(Version::V1Alpha2, &path) => {
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
