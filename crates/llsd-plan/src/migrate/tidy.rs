//! What conversion must do and a person would not: defaults written out, and an annotation that
//! carries what means nothing. This file takes both away and says what remains.

use llsd_api::conversion::{V1ALPHA1_EXTRAS, v1alpha1_field};
use llsd_yaml::value_at;
use serde_json::{Map, Value, json};

use super::migrated::{DecisionKind, Migrated, field_path};
use crate::problems::{FieldPath, Segment};

/// The fields of v1alpha2 in the order in which the documentation shows them.
#[rustfmt::skip]
const ORDER: [(&str, &[&str]); 6] = [
    ("/spec", &["distribution", "overrideConfig", "providers", "resources", "storage", "disabled",
        "externalProviders", "networking", "workload"]),
    ("/spec/storage", &["kv", "sql"]),
    ("/spec/networking", &["port", "expose", "tls", "allowedFrom"]),
    ("/spec/workload", &["replicas", "workers", "resources", "storage", "overrides", "autoscaling",
        "podDisruptionBudget", "topologySpreadConstraints", "rollback", "preflight", "historyLimit"]),
    ("/spec/workload/storage", &["size", "mountPath"]),
    ("/spec/workload/overrides", &["serviceAccountName", "terminationGracePeriodSeconds", "env",
        "command", "args", "volumes", "volumeMounts"]),
];

/// Containers of both versions that hold the same fields under other names.
const CONTAINERS: [(&str, &str); 3] = [
    ("/spec/network", "/spec/networking"),
    ("/spec/server/tlsConfig", "/spec/networking/tls"),
    ("/spec/server/podOverrides", "/spec/workload/overrides"),
];

const CONTAINER_NAME: &str = "/spec/server/containerSpec/name";
const USER_CONFIG: &str = "/spec/server/userConfig";

/// `source` is the v1alpha1 resource that was converted.
pub(super) fn tidy(migrated: &mut Migrated, source: &Value) {
    drop_defaults(&mut migrated.object, source);
    annotation(migrated, source);
    note_moves(migrated, source);
}

/// Conversion writes out what the schema would fill in, because the API server does not ask again.
fn drop_defaults(object: &mut Value, source: &Value) {
    let port =
        source.pointer("/spec/server/containerSpec/port").is_some_and(|port| !port.is_null());
    if !port {
        remove(object, "/spec/networking", "port", &json!(8321));
    }
    remove(object, "/spec/workload/storage", "deletionPolicy", &json!("Retain"));
}

fn remove(object: &mut Value, holder: &str, key: &str, default: &Value) {
    if let Some(Value::Object(holder)) = object.pointer_mut(holder)
        && holder.get(key) == Some(default)
    {
        holder.shift_remove(key);
    }
}

fn annotation(migrated: &mut Migrated, source: &Value) {
    let namespace = source.pointer("/metadata/namespace").cloned();
    let Some(Value::Object(annotations)) = migrated.object.pointer_mut("/metadata/annotations")
    else {
        return;
    };
    let Some(carried) = annotations.shift_remove(V1ALPHA1_EXTRAS) else { return };
    let entries = carried.as_str().and_then(|text| serde_json::from_str::<Vec<Value>>(text).ok());
    let mut decisions = Vec::new();
    let kept = entries.map(|entries| {
        let fates = entries.into_iter().filter_map(|entry| {
            let (kind, why) = fate(&entry, namespace.as_ref())?;
            let is_kept = kind == DecisionKind::Carried;
            let message = match kind {
                DecisionKind::Carried => format!("in the annotation {V1ALPHA1_EXTRAS}: {why}"),
                _ => why.to_owned(),
            };
            decisions.push((path_of(&entry), kind, message));
            is_kept.then_some(entry)
        });
        fates.collect::<Vec<Value>>()
    });
    match kept {
        // Somebody else's value under this name.
        None => {
            annotations.insert(V1ALPHA1_EXTRAS.to_owned(), carried);
        }
        Some(kept) if kept.is_empty() => {}
        Some(kept) => {
            let text = Value::Array(kept).to_string();
            annotations.insert(V1ALPHA1_EXTRAS.to_owned(), Value::String(text));
        }
    }
    let empty = annotations.is_empty();
    if empty && let Some(Value::Object(metadata)) = migrated.object.get_mut("metadata") {
        metadata.shift_remove("annotations");
    }
    for (path, kind, message) in decisions {
        migrated.decide(path, kind, message);
    }
}

/// What becomes of an entry, and why. What is not set is not worth a word.
fn fate(entry: &Value, namespace: Option<&Value>) -> Option<(DecisionKind, &'static str)> {
    let carried = |why| Some((DecisionKind::Carried, why));
    let dropped = |why| Some((DecisionKind::Dropped, why));
    let is = entry.get("is").unwrap_or(&Value::Null);
    match entry.get("path").and_then(Value::as_str) {
        None if entry.get("kept").is_some() => {
            carried("a value that was found under the annotation's name")
        }
        Some("/metadata/annotations") => None,
        Some(path) if path.starts_with("/status") => {
            dropped("the status is the operator's to write")
        }
        Some(CONTAINER_NAME) => match is.as_str() {
            None | Some("" | "llama-stack") => None,
            Some(_) => carried(
                "v1alpha2 has no field for the container's name; without the annotation it is \
                 called llama-stack, and the pods are replaced once",
            ),
        },
        Some(USER_CONFIG) if !hollow(is) => match is.get("configMapNamespace") {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) if text.is_empty() => None,
            own if own == namespace => {
                dropped("the ConfigMap is looked for in this namespace anyway")
            }
            Some(_) => carried(
                "v1alpha2 reads ConfigMaps of the resource's own namespace only: copy the \
                 ConfigMap there",
            ),
        },
        _ if hollow(is) => None,
        _ => carried("v1alpha2 has no field for it"),
    }
}

fn path_of(entry: &Value) -> FieldPath {
    let Some(path) = entry.get("path").and_then(Value::as_str) else {
        return FieldPath::root().key("metadata").key("annotations").key(V1ALPHA1_EXTRAS);
    };
    match (path, entry.pointer("/is/configMapNamespace")) {
        (USER_CONFIG, Some(_)) => field_path(path).key("configMapNamespace"),
        _ => field_path(path),
    }
}

/// Whether a value says nothing: null, or objects and lists with nothing else in them.
fn hollow(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.values().all(hollow),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Says of every field where it stands now.
fn note_moves(migrated: &mut Migrated, source: &Value) {
    for (from, to) in CONTAINERS {
        if source.pointer(from).is_some() && migrated.object.pointer(to).is_some() {
            migrated.moved(field_path(from), field_path(to));
        }
    }
    let mut found = Vec::new();
    for section in ["spec", "status"] {
        if let Some(value) = migrated.object.get(section) {
            collect(value, &format!("/{section}"), source, &mut found);
        }
    }
    for (from, to) in found {
        let (from, to) = (field_path(from), field_path(&to));
        let renamed = from != to;
        let variables = to.segments().last() == Some(&Segment::Key("env".to_owned()));
        let holds_fields = to.segments().last() == Some(&Segment::Key("storage".to_owned()));
        // Variables are told of one by one, and a volume by its fields.
        if renamed && !variables && !holds_fields {
            migrated.decide(from.clone(), DecisionKind::Moved, format!("→ {to}"));
        }
        if variables {
            let count =
                value_at(&migrated.object, &to).and_then(Value::as_array).map_or(0, Vec::len);
            for index in 0..count {
                migrated.moved(from.index(index), to.index(index));
            }
        }
        migrated.moved(from, to);
    }
}

fn collect(value: &Value, path: &str, source: &Value, found: &mut Vec<(&'static str, String)>) {
    let own = v1alpha1_field(path).filter(|own| source.pointer(own).is_some());
    if let Some(own) = own {
        found.push((own, path.to_owned()));
    }
    if let (Value::Object(fields), None | Some("/spec/server/storage")) = (value, own) {
        for (key, value) in fields {
            collect(value, &format!("{path}/{key}"), source, found);
        }
    }
}

/// Puts the fields into the usual order; others follow as they come.
pub(super) fn order(object: &mut Value) {
    for (place, keys) in ORDER {
        if let Some(Value::Object(fields)) = object.pointer_mut(place) {
            let mut ordered = Map::new();
            for key in keys {
                if let Some(value) = fields.shift_remove(*key) {
                    ordered.insert((*key).to_owned(), value);
                }
            }
            ordered.extend(std::mem::take(fields));
            *fields = ordered;
        }
    }
}
