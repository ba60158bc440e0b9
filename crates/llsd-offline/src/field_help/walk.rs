//! From the resource down to one field, through lists, maps and both shapes of a field, as `kubectl explain`
//! does: an index is not needed.

use llsd_api::schema::{ANYTHING, ENTRY, SHAPE, Shape};
use llsd_plan::problems::suggest::nearest;
use serde_json::Value;

/// The most paths that are offered in place of one that is not there.
const OFFERED: usize = 3;

/// The field at the end of a path.
pub(super) struct FoundField<'a> {
    /// Without indices.
    pub(super) path: Vec<String>,
    pub(super) schema: &'a Value,
    pub(super) required: bool,
}

/// The keys of a path as people write it: `llsd.spec.x[0].y`, `.spec.x[].y`.
pub(super) fn keys(written: &str) -> Vec<String> {
    let written = written.trim().trim_start_matches('.');
    let without_kind = ["llsd.", "llamastackdistribution.", "llamastackdistributions."]
        .iter()
        .find_map(|kind| written.strip_prefix(kind));
    let parts = without_kind.unwrap_or(written).split(['.', '[', ']']);
    let is_key = |part: &&str| !part.is_empty() && *part != "*" && part.parse::<usize>().is_err();
    parts.filter(is_key).map(str::to_owned).collect()
}

/// Follows the keys; the error names the first that is not there.
pub(super) fn walk<'a>(root: &'a Value, keys: &[String]) -> Result<FoundField<'a>, String> {
    let mut found = FoundField { path: Vec::new(), schema: root, required: true };
    for key in keys {
        let below = fields(found.schema);
        if let Some((_, schema, required)) = below.iter().find(|(name, ..)| name == key) {
            (found.schema, found.required) = (schema, *required);
        } else if let Some(values) = values_of(found.schema) {
            (found.schema, found.required) = (values, false);
        } else {
            return Err(missing(root, &found, key));
        }
        found.path.push(key.clone());
    }
    Ok(found)
}

/// The fields below a schema, each with whether it must be there.
pub(super) fn fields(schema: &Value) -> Vec<(&str, &Value, bool)> {
    let holder = of_one(schema);
    let required = holder["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    let properties = holder["properties"].as_object().into_iter().flatten();
    let mut fields: Vec<(&str, &Value, bool)> = properties
        .map(|(name, field)| (name.as_str(), field, required.iter().any(|one| one == name)))
        .collect();
    if matches!(shape(schema), Some(Shape::Secret | Shape::StringOrSecret)) {
        fields.push(("secretKeyRef", &schema[ENTRY], false));
    }
    fields
}

/// What every value of a map is.
fn values_of(schema: &Value) -> Option<&Value> {
    of_one(schema).get("additionalProperties").filter(|values| values.is_object())
}

/// The schema of the object that a list, or a field of two shapes, holds.
fn of_one(schema: &Value) -> &Value {
    let below = schema.get(ENTRY).or_else(|| schema.get("items"));
    below.map_or(schema, of_one)
}

pub(super) fn shape(schema: &Value) -> Option<Shape> {
    serde_json::from_value(schema.get(SHAPE)?.clone()).ok()
}

fn missing(root: &Value, found: &FoundField<'_>, key: &str) -> String {
    let place = match found.path.join(".") {
        path if path.is_empty() => "a resource".to_owned(),
        path => path,
    };
    let below = fields(found.schema);
    if place == "metadata" {
        return "metadata is that of every Kubernetes object; `kubectl explain llsd.metadata` has its fields".to_owned();
    }
    let wrong = format!("{place} has no field {key}");
    if below.is_empty() {
        let free = of_one(found.schema)[ANYTHING] == true;
        let what =
            if free { "what stands below it is passed on as it is" } else { "it has no fields" };
        return format!("{wrong}: {what}");
    }
    let prefix = |name: &str| {
        let mut path = found.path.clone();
        path.push(name.to_owned());
        path.join(".")
    };
    if let Some(meant) = nearest(key, below.iter().map(|(name, ..)| *name)) {
        return format!("{wrong}; did you mean {}?", prefix(meant));
    }
    let mut elsewhere = Vec::new();
    search(root, key, &mut Vec::new(), &mut elsewhere);
    // What a user sets is not answered with a field that the operator writes.
    let root_key = |path: &str| path.split('.').next().map(str::to_owned);
    let is_near = |path: &String| root_key(path).as_ref() == found.path.first();
    if elsewhere.iter().any(is_near) {
        elsewhere.retain(is_near);
    }
    elsewhere.sort_by_key(|path| path.matches('.').count());
    elsewhere.truncate(OFFERED);
    if elsewhere.is_empty() {
        let names: Vec<&str> = below.iter().map(|(name, ..)| *name).collect();
        return format!("{wrong}; it has {}", names.join(", "));
    }
    format!("{wrong}; did you mean {}?", elsewhere.join(" or "))
}

/// Every field of that name.
fn search(schema: &Value, key: &str, path: &mut Vec<String>, found: &mut Vec<String>) {
    for (name, field, _) in fields(schema) {
        path.push(name.to_owned());
        if name.eq_ignore_ascii_case(key) {
            found.push(path.join("."));
        }
        search(field, key, path, found);
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_read_in_every_spelling_that_people_have() {
        let expected = ["spec", "providers", "inference", "endpoint"];
        for written in [
            "spec.providers.inference.endpoint",
            ".spec.providers.inference[0].endpoint",
            "llsd.spec.providers.inference[].endpoint",
            "llamastackdistribution.spec.providers.inference[*].endpoint",
        ] {
            assert_eq!(keys(written), expected, "{written}");
        }
    }
}
