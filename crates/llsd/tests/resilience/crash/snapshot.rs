//! All objects of a namespace without what differs from one run to the next: identities, times and
//! the namespace's own name.

use std::collections::BTreeMap;

use llsd_plan::objects::ObjectKind;
use serde_json::{Value, json};

use super::namespace::Namespace;

/// Where all that is compared is listed.
fn collections() -> impl Iterator<Item = (String, &'static str)> {
    let owned = ObjectKind::ALL.iter().filter(|kind| !kind.is_optional()).map(|kind| {
        let root = if kind.group().is_empty() { "/api" } else { "/apis" };
        (format!("{root}/{}", kind.api_version()), kind.plural())
    });
    owned.chain([("/apis/llamastack.io/v1alpha2".to_owned(), "llamastackdistributions")])
}

/// Objects by `plural/name`.
pub type Snapshot = BTreeMap<String, Value>;

/// Takes one, the resource and its status included.
pub async fn take(namespace: &Namespace) -> Snapshot {
    let mut snapshot = Snapshot::new();
    for (api, plural) in collections() {
        let listed = namespace.get(&api, plural).await.unwrap_or_default();
        for object in listed["items"].as_array().unwrap() {
            let name = object["metadata"]["name"].as_str().unwrap();
            let comparable = comparable(object, plural, &namespace.name);
            snapshot.insert(format!("{plural}/{name}"), comparable);
        }
    }
    snapshot
}

fn comparable(object: &Value, plural: &str, namespace: &str) -> Value {
    let text = object.to_string().replace(namespace, "NAMESPACE");
    let mut object: Value = serde_json::from_str(&text).unwrap();
    if plural != "llamastackdistributions" {
        // Written by the test, or by nobody here.
        object.as_object_mut().unwrap().remove("status");
    } else if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
        // Who starts when a change is rolled out already has nobody to ask about it.
        status.remove("preflight");
        let conditions = status["conditions"].as_array_mut().unwrap();
        conditions.retain(|condition| condition["type"] != "Preflight");
    }
    strip(&mut object);
    object
}

fn strip(value: &mut Value) {
    const DIFFERENT: [&str; 13] = [
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "managedFields",
        "lastTransitionTime",
        "lastUpdated",
        "generatedAt",
        "clusterIP",
        "clusterIPs",
        "nodePort",
        "kubectl.kubernetes.io/last-applied-configuration",
        "time",
        "selfLink",
    ];
    match value {
        Value::Object(map) => {
            for field in DIFFERENT {
                map.remove(field);
            }
            map.values_mut().for_each(strip);
            map.sort_keys();
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

/// What one has and the other has not, or not so; for a message that can be read.
pub fn differences(expected: &Snapshot, found: &Snapshot) -> Vec<Value> {
    let names: std::collections::BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
    let differing = names.into_iter().filter(|name| expected.get(*name) != found.get(*name));
    differing
        .map(|name| {
            json!({"object": name, "expected": expected.get(name), "found": found.get(name)})
        })
        .collect()
}
