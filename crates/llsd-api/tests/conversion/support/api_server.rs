//! What the API server does to an object between two conversions: it fills in the schema defaults
//! of the version that a request uses.

use llsd_api::conversion::Version;
use serde_json::{Value, json};

pub(crate) fn with_defaults(mut object: Value, version: Version) -> Value {
    match version {
        Version::V1Alpha1 => {
            fill(&mut object, "/spec", "replicas", json!(1));
            fill(&mut object, "/spec/server/containerSpec", "name", json!("llama-stack"));
            fill(&mut object, "/spec/network", "exposeRoute", json!(false));
        }
        Version::V1Alpha2 => {
            fill(&mut object, "/spec/networking", "port", json!(8321));
            fill(&mut object, "/spec/storage/kv", "type", json!("sqlite"));
            fill(&mut object, "/spec/storage/sql", "type", json!("sqlite"));
            fill(&mut object, "/spec/workload/storage", "deletionPolicy", json!("Retain"));
        }
    }
    object
}

/// As the API server does, a null in the place of a default counts as nothing.
fn fill(object: &mut Value, holder: &str, key: &str, value: Value) {
    if let Some(Value::Object(holder)) = object.pointer_mut(holder) {
        let place = holder.entry(key).or_insert(Value::Null);
        if place.is_null() {
            *place = value;
        }
    }
}
