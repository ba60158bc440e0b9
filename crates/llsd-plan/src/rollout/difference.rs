//! Where a live object differs from the planned one, as field paths.

use serde_json::{Map, Value};

/// More than this many places are counted, not listed.
const LISTED: usize = 12;

/// The places below `path` in which the live value differs from the planned one. What only the live
/// one has is not listed: defaults of the API server stand there too.
pub(super) fn places(planned: &Value, live: &Value, path: &str) -> Vec<String> {
    let mut places = Vec::new();
    differences(planned, live, path, &mut places);
    if places.len() > LISTED {
        let more = places.len() - LISTED;
        places.truncate(LISTED);
        places.push(format!("and {more} more"));
    }
    places
}

fn differences(planned: &Value, live: &Value, path: &str, places: &mut Vec<String>) {
    match (planned, live) {
        (Value::Object(planned), Value::Object(live)) => {
            of_objects(planned, live, path, places);
        }
        (Value::Array(planned), Value::Array(live))
            if all_have_names(planned) && all_have_names(live) =>
        {
            for item in planned {
                let name = item["name"].as_str().unwrap_or_default();
                let path = format!("{path}[{name}]");
                match live.iter().find(|live| live["name"] == item["name"]) {
                    Some(live) => differences(item, live, &path, places),
                    None => places.push(path),
                }
            }
        }
        (planned, live) if planned == live => {}
        _ => places.push(path.to_owned()),
    }
}

fn of_objects(
    planned: &Map<String, Value>,
    live: &Map<String, Value>,
    path: &str,
    places: &mut Vec<String>,
) {
    for (key, value) in planned {
        let path = format!("{path}.{key}");
        match live.get(key) {
            Some(live) => differences(value, live, &path, places),
            None => places.push(path),
        }
    }
}

fn all_have_names(items: &[Value]) -> bool {
    !items.is_empty() && items.iter().all(|item| item["name"].is_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_waits_is_named_by_its_place() {
        let planned = json!({"replicas": 1, "template": {"spec": {"containers": [
            {"name": "llama-stack", "image": "new", "env": [{"name": "A", "value": "1"}]},
        ]}}});
        let live = json!({"replicas": 1, "extra": true, "template": {"spec": {"containers": [
            {"name": "llama-stack", "image": "old", "env": [{"name": "B", "value": "1"}]},
        ]}}});
        assert_eq!(
            places(&planned, &live, "spec"),
            [
                "spec.template.spec.containers[llama-stack].image",
                "spec.template.spec.containers[llama-stack].env[A]",
            ]
        );
        assert!(places(&planned, &planned, "spec").is_empty());
    }
}
