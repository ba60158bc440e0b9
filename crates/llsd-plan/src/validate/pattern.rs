//! The patterns of both schemas, each compiled once: compiling one takes longer than all other
//! checks of a resource together.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex_lite::Regex;
use serde_json::Value;

static COMPILED: LazyLock<HashMap<&'static str, Regex>> = LazyLock::new(|| {
    let mut compiled = HashMap::new();
    let mut rest = vec![&*super::SCHEMA, &*super::v1alpha1::SCHEMA];
    while let Some(schema) = rest.pop() {
        if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
            compiled.entry(pattern).or_insert_with(|| compile(pattern));
        }
        match schema {
            Value::Object(fields) => rest.extend(fields.values()),
            Value::Array(items) => rest.extend(items),
            _ => {}
        }
    }
    compiled
});

/// Whether the text is as the pattern of a schema asks for.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    match COMPILED.get(pattern) {
        Some(compiled) => compiled.is_match(text),
        None => compile(pattern).is_match(text),
    }
}

fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("patterns of the schema are valid")
}
