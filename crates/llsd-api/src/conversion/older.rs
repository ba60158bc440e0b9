//! The spellings that operators before the first release of v1alpha2 wrote: an annotation per
//! field, or flat JSON under the names that are still in use. They are read once and written in
//! today's form: into the field that v1alpha2 has for it now, else into an entry. What a field
//! says already wins.

use serde_json::{Map, Value, json};

use super::carried::Entry;
use super::extras::Extras;
use super::paths::{at, open};
use super::table::{CONTAINER_NAME, DEFAULT_CONTAINER_NAME, EXPOSE, OVERRIDE_CONFIG};
use super::version::Version;

/// What v1alpha2 once had no field for.
#[derive(Clone, Copy)]
enum Field {
    ContainerName,
    GracePeriod,
    UserConfigNamespace,
    CaBundleNamespace,
    CaBundleKeys,
}

/// Each field's own annotation on v1alpha2 objects, and its key in flat JSON.
#[rustfmt::skip]
const FIELDS: [(Field, &str, &str); 5] = [
    (Field::ContainerName, "llamastack.io/v1alpha1-container-name", "containerName"),
    (Field::GracePeriod, "llamastack.io/v1alpha1-termination-grace-period", "terminationGracePeriod"),
    (Field::UserConfigNamespace, "llamastack.io/v1alpha1-user-config-namespace", "userConfigNamespace"),
    (Field::CaBundleNamespace, "llamastack.io/v1alpha1-ca-bundle-namespace", "caBundleNamespace"),
    (Field::CaBundleKeys, "llamastack.io/v1alpha1-ca-bundle-keys", "caBundleKeys"),
];

const OVERRIDES: &str = "/spec/workload/overrides";
const CA_BUNDLE: &str = "/spec/networking/tls/caBundle";
const USER_CONFIG: &str = "/spec/server/userConfig";

/// Reads what older operators left about version `about` on an object of the other version, whose
/// sections these are. `value` is that of the annotation that is still in use, if it is not in
/// today's form; what nobody can read stays in it.
pub(super) fn take_extras(
    about: Version,
    value: Option<Value>,
    annotations: &mut Map<String, Value>,
    sections: &mut Value,
) -> Extras {
    let mut extras = Extras::default();
    let flat = value.as_ref().filter(|_| has_spec(sections));
    match about {
        Version::V1Alpha1 => {
            let flat = flat.and_then(flat_v1alpha1);
            extras.foreign = value.filter(|_| flat.is_none());
            let mut found = flat.unwrap_or_default();
            if has_spec(sections) {
                for (field, annotation, _) in FIELDS {
                    if let Some(value) =
                        annotations.get(annotation).and_then(|v| understand(field, v))
                    {
                        annotations.shift_remove(annotation);
                        found.push((field, value));
                    }
                }
            }
            for (field, value) in found {
                extras.entries.extend(settle(field, value, sections));
            }
        }
        Version::V1Alpha2 => match flat.and_then(flat_v1alpha2) {
            Some(entries) => extras.entries = entries,
            None => extras.foreign = value,
        },
    }
    extras
}

/// Whether [`read`] would find something among the other annotations.
pub(super) fn would_read(about: Version, annotations: &Value, sections: &Value) -> bool {
    about == Version::V1Alpha1
        && has_spec(sections)
        && FIELDS.iter().any(|(field, annotation, _)| {
            annotations.get(annotation).and_then(|v| understand(*field, v)).is_some()
        })
}

/// Whether [`read`] would understand this value.
pub(super) fn would_read_value(about: Version, value: Option<&Value>, sections: &Value) -> bool {
    let value = value.filter(|_| has_spec(sections));
    match about {
        Version::V1Alpha1 => value.and_then(flat_v1alpha1).is_some(),
        Version::V1Alpha2 => value.and_then(flat_v1alpha2).is_some(),
    }
}

/// Without a spec there is nothing to read into, and the annotations are left for a time when
/// there is.
fn has_spec(sections: &Value) -> bool {
    sections.get("spec").is_some_and(Value::is_object)
}

/// Puts a value of v1alpha1 where a v1alpha2 object has a place for it now, or into an entry.
fn settle(field: Field, value: Value, sections: &mut Value) -> Option<Entry> {
    match field {
        Field::ContainerName => {
            (value != DEFAULT_CONTAINER_NAME).then(|| Entry::new(CONTAINER_NAME, None, Some(value)))
        }
        Field::UserConfigNamespace => {
            let name = at(sections, OVERRIDE_CONFIG)?.get("configMapName")?;
            let was = json!({"configMapName": name});
            let is = json!({"configMapName": name, "configMapNamespace": value});
            Some(Entry::new(USER_CONFIG, Some(was), Some(is)))
        }
        Field::GracePeriod => {
            open(sections, OVERRIDES)?.entry("terminationGracePeriodSeconds").or_insert(value);
            None
        }
        Field::CaBundleNamespace | Field::CaBundleKeys => {
            at(sections, CA_BUNDLE)?;
            let key = match field {
                Field::CaBundleKeys => "configMapKeys",
                _ => "configMapNamespace",
            };
            open(sections, CA_BUNDLE)?.entry(key).or_insert(value);
            None
        }
    }
}

/// A field's value, from JSON or from an annotation's text.
fn understand(field: Field, value: &Value) -> Option<Value> {
    match field {
        Field::GracePeriod => {
            let seconds = value.as_i64().or_else(|| value.as_str()?.parse().ok())?;
            Some(json!(seconds))
        }
        Field::CaBundleKeys => {
            let keys: Vec<String> = match value {
                Value::String(text) => serde_json::from_str(text).ok()?,
                other => serde_json::from_value(other.clone()).ok()?,
            };
            Some(json!(keys))
        }
        Field::ContainerName | Field::UserConfigNamespace | Field::CaBundleNamespace => {
            value.as_str().filter(|text| !text.is_empty()).map(Value::from)
        }
    }
}

fn flat_v1alpha1(value: &Value) -> Option<Vec<(Field, Value)>> {
    let known = |(key, value): (&String, &Value)| {
        let (field, ..) = FIELDS.iter().find(|(.., name)| name == key)?;
        Some((*field, understand(*field, value)?))
    };
    object(value)?.iter().map(known).collect()
}

fn flat_v1alpha2(value: &Value) -> Option<Vec<Entry>> {
    let known = |(key, value): (&String, &Value)| match (key.as_str(), value) {
        ("providers" | "resources" | "storage" | "externalProviders", Value::Object(_))
        | ("disabled", Value::Array(_)) => {
            Some(Entry::new(&format!("/spec/{key}"), None, Some(value.clone())))
        }
        ("exposeHostname", Value::String(hostname)) => {
            let expose = json!({"enabled": true, "hostname": hostname});
            Some(Entry::new(EXPOSE, Some(json!(true)), Some(expose)))
        }
        _ => None,
    };
    object(value)?.iter().map(known).collect()
}

/// Flat JSON is an object that says something.
fn object(value: &Value) -> Option<Map<String, Value>> {
    let object: Map<String, Value> = serde_json::from_str(value.as_str()?).ok()?;
    (!object.is_empty()).then_some(object)
}
