//! How deep a resource may be nested. Programs that read resources give up at 128 levels, most of
//! them with the whole list that has one such object in it.

use serde_json::Value;

use crate::problem::{FieldPath, Problem, Reason};

/// The most levels that are accepted.
pub const DEEPEST: usize = 100;

/// How many lists and objects lie within each other.
pub(super) fn depth(value: &Value) -> usize {
    match value {
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// What is wrong with a deeper one.
pub fn too_deep() -> Problem {
    Problem {
        path: FieldPath::spec(),
        reason: Reason::Invalid,
        message: format!("is nested more than {DEEPEST} levels deep"),
        remedy: "shorten what stands in settings, params or metadata".to_owned(),
    }
}
