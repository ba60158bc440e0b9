//! What a resource asks for and the generated file does not have, without a word about it.

use std::collections::HashSet;

use llsd_plan::plan::Plan;
use llsd_plan::problems::{FieldPath, Segment};
use llsd_yaml::document::{Content, Node, Origin};
use serde_json::Value;

use crate::origin::is_remarked;
use crate::trial::Trial;

/// The fields of `providers` and `resources` that left no trace.
pub fn lost(trial: &Trial, plan: &Plan) -> Vec<FieldPath> {
    let Some(generated) = &plan.generated else { return Vec::new() };
    let mut traces = HashSet::new();
    collect(&generated.document, &mut traces);
    let mut wanted = Vec::new();
    for section in ["providers", "resources"] {
        let path = FieldPath::spec().key(section);
        for (key, value) in trial.spec.get(section).and_then(Value::as_object).into_iter().flatten()
        {
            // Telemetry becomes environment, and since 0.7 tools are found by their providers.
            let leaves_none = match key.as_str() {
                "telemetry" => true,
                "tools" => !generated.layout.has_tool_groups,
                _ => false,
            };
            if !leaves_none {
                leaves(value, &path.key(key), &mut wanted);
            }
        }
    }
    wanted.retain(|leaf| {
        let is_there = traces.iter().any(|trace| trace.segments().starts_with(leaf.segments()));
        !is_there && !is_remarked(leaf, &plan.warnings)
    });
    // One word for all that is below a setting.
    wanted.dedup_by(|next, first| setting(next).is_some() && setting(next) == setting(first));
    wanted
}

/// The setting of a provider that a path is in.
fn setting(path: &FieldPath) -> Option<&[Segment]> {
    let is_settings = |segment: &Segment| matches!(segment, Segment::Key(key) if key == "settings" || key == "config");
    let place = path.segments().iter().position(is_settings)?;
    path.segments().get(..place + 2)
}

fn collect(node: &Node, traces: &mut HashSet<FieldPath>) {
    if let Origin::Field(path) = &node.origin {
        traces.insert(path.clone());
    }
    match &node.content {
        Content::Scalar(_) => {}
        Content::List(items) => items.iter().for_each(|item| collect(item, traces)),
        Content::Map(fields) => fields.iter().for_each(|(_, inner)| collect(inner, traces)),
    }
}

/// Every value by its path; a reference to a secret is one value.
fn leaves(value: &Value, path: &FieldPath, found: &mut Vec<FieldPath>) {
    match value {
        Value::Object(fields) if is_secret(value) || fields.is_empty() => {
            if !fields.is_empty() {
                found.push(path.clone());
            }
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(key, inner)| leaves(inner, &path.key(key), found));
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, inner)| leaves(inner, &path.index(index), found));
        }
        // Nothing, also to the API server.
        Value::Null => {}
        _ => found.push(path.clone()),
    }
}

fn is_secret(value: &Value) -> bool {
    let direct = value.get("name").is_some_and(Value::is_string)
        && value.get("key").is_some_and(Value::is_string);
    value.get("secretKeyRef").is_some() || direct
}
