//! Collects what is wrong with the operator's configuration while it is read.

use llsd_image::settings::ConfigProblem;
use llsd_yaml::document;
use serde_json::{Map, Value};

pub(super) fn below(path: &str, key: &str) -> String {
    if key.is_empty() { path.to_owned() } else { format!("{path}.{key}") }
}

/// Each with its path: a key of the ConfigMap and what lies below, or a variable.
#[derive(Debug, Default)]
pub(super) struct Remarks(pub(super) Vec<ConfigProblem>);

impl Remarks {
    pub(super) fn at(&mut self, path: &str, message: impl Into<String>) {
        self.0.push(ConfigProblem { path: path.to_owned(), message: message.into() });
    }

    /// The YAML mapping under a key of the ConfigMap; an empty one where there is none.
    pub(super) fn mapping(&mut self, key: &str, text: &str) -> Map<String, Value> {
        match document::read(text) {
            Ok(Value::Object(fields)) => return fields,
            Ok(Value::Null) => {}
            Ok(_) => self.at(key, "must be a YAML mapping"),
            Err(wrong) => self.at(key, format!("{}: {}", wrong.message, wrong.at)),
        }
        Map::new()
    }
}
