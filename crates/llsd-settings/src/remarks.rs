//! What is wrong with the operator's configuration, by path: a key of the ConfigMap and what lies below, or
//! a variable.

use llsd_image::settings::Problems;
use llsd_yaml::document;
use serde_json::{Map, Value};

pub(super) fn below(path: &str, key: &str) -> String {
    if key.is_empty() { path.to_owned() } else { format!("{path}.{key}") }
}

/// The YAML mapping under a key of the ConfigMap; an empty one where there is none.
pub(super) fn mapping(key: &str, text: &str, remarks: &mut Problems) -> Map<String, Value> {
    match document::read(text) {
        Ok(Value::Object(fields)) => return fields,
        Ok(Value::Null) => {}
        Ok(_) => remarks.at(key, "must be a YAML mapping"),
        Err(wrong) => remarks.at(key, format!("{}: {}", wrong.message, wrong.at)),
    }
    Map::new()
}
