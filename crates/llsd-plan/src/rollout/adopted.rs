//! A Deployment of an earlier operator: it is ours from now on, and its pods run on untouched until
//! the resource changes.

use serde_json::{Map, Value, json};

use crate::objects::labels;

/// More than this many places are counted, not listed.
const LISTED: usize = 12;

/// What is applied in place of the whole Deployment: whose it is, and for which state of the
/// resource and which override of its distribution's image its own template stays.
pub(super) fn mark(desired: &Value, state: &str, image_override: Option<&str>) -> Value {
    let metadata = &desired["metadata"];
    let mut mark = json!({
        "apiVersion": desired["apiVersion"],
        "kind": desired["kind"],
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "labels": metadata["labels"],
            "ownerReferences": metadata["ownerReferences"],
            "annotations": {
                labels::PLANNED_FOR: state,
                labels::ADOPTED: "true",
            },
        },
    });
    if let Some(image) = image_override {
        mark["metadata"]["annotations"][labels::ADOPTED_OVERRIDE] = json!(image);
    }
    mark
}

/// The places in which the live Deployment differs from the planned one, as field paths. What only
/// the live one has is not listed: defaults of the API server stand there too.
pub(super) fn waiting(desired: &Value, live: &Value) -> Vec<String> {
    let mut places = Vec::new();
    differences(&desired["spec"], &live["spec"], "spec", &mut places);
    if places.len() > LISTED {
        let more = places.len() - LISTED;
        places.truncate(LISTED);
        places.push(format!("and {more} more"));
    }
    places
}

fn differences(desired: &Value, live: &Value, path: &str, places: &mut Vec<String>) {
    match (desired, live) {
        (Value::Object(desired), Value::Object(live)) => {
            of_objects(desired, live, path, places);
        }
        (Value::Array(desired), Value::Array(live)) if named(desired) && named(live) => {
            for item in desired {
                let name = item["name"].as_str().unwrap_or_default();
                let path = format!("{path}[{name}]");
                match live.iter().find(|live| live["name"] == item["name"]) {
                    Some(live) => differences(item, live, &path, places),
                    None => places.push(path),
                }
            }
        }
        (desired, live) if desired == live => {}
        _ => places.push(path.to_owned()),
    }
}

fn of_objects(
    desired: &Map<String, Value>,
    live: &Map<String, Value>,
    path: &str,
    places: &mut Vec<String>,
) {
    for (key, value) in desired {
        let path = format!("{path}.{key}");
        match live.get(key) {
            Some(live) => differences(value, live, &path, places),
            None => places.push(path),
        }
    }
}

fn named(items: &[Value]) -> bool {
    !items.is_empty() && items.iter().all(|item| item["name"].is_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_named_by_its_place() {
        let desired = json!({"spec": {"replicas": 1, "template": {"spec": {"containers": [
            {"name": "llama-stack", "image": "new", "env": [{"name": "A", "value": "1"}]},
        ]}}}});
        let live = json!({"spec": {"replicas": 1, "extra": true, "template": {"spec": {"containers": [
            {"name": "llama-stack", "image": "old", "env": [{"name": "B", "value": "1"}]},
        ]}}}});
        assert_eq!(
            waiting(&desired, &live),
            [
                "spec.template.spec.containers[llama-stack].image",
                "spec.template.spec.containers[llama-stack].env[A]",
            ]
        );
        assert!(waiting(&desired, &desired).is_empty());
    }
}
