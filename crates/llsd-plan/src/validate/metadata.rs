//! What the API server checks of any resource, before the schema: its top-level fields, labels and
//! annotations. The words of messages are for people; the rules are those of Kubernetes.

use serde_json::{Map, Value};

use super::shape::unknown_field;
use super::value::{present, wrong_type};
use crate::problems::{FieldPath, Findings, Reason};

const TOP_LEVEL: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];

/// The fields of every object's metadata.
pub const METADATA: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// The most bytes of all annotations together.
const ANNOTATIONS: usize = 256 << 10;

pub(super) fn check(resource: &Value, findings: &mut Findings) {
    let root = FieldPath::root();
    known_fields(resource, &TOP_LEVEL, &root, findings);
    let path = root.key("metadata");
    let metadata = match resource.get("metadata") {
        Some(metadata @ Value::Object(_)) => metadata,
        Some(Value::Null) | None => return,
        Some(other) => return wrong_type("an object", other, &path, findings),
    };
    known_fields(metadata, &METADATA, &path, findings);
    if let Some(labels) = map_of_strings(metadata, "labels", &path, findings) {
        for (key, value) in labels {
            let path = path.key("labels").key(key);
            check_key(key, &path, findings);
            if value.as_str().is_some_and(|value| !is_label_value(value)) {
                let remedy = "use at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at \
                              both ends; an annotation takes any text";
                findings.problem(&path, Reason::Invalid, "is not a value of a label", remedy);
            }
        }
    }
    if let Some(annotations) = map_of_strings(metadata, "annotations", &path, findings) {
        let path = path.key("annotations");
        for key in annotations.keys() {
            // The API server accepts capital letters in the prefix here, and here alone.
            check_key(&key.to_lowercase(), &path.key(key), findings);
        }
        let size = |(key, value): (&String, &Value)| key.len() + value.as_str().map_or(0, str::len);
        if annotations.iter().map(size).sum::<usize>() > ANNOTATIONS {
            let message = format!("hold more than {ANNOTATIONS} bytes");
            findings.problem(&path, Reason::Invalid, message, "shorten or remove some");
        }
    }
}

fn known_fields(object: &Value, known: &[&str], path: &FieldPath, findings: &mut Findings) {
    for field in object.as_object().into_iter().flat_map(Map::keys) {
        if !known.contains(&field.as_str()) {
            unknown_field(&path.key(field), field, known.iter().copied(), findings);
        }
    }
}

fn map_of_strings<'a>(
    metadata: &'a Value,
    field: &str,
    path: &FieldPath,
    findings: &mut Findings,
) -> Option<&'a Map<String, Value>> {
    let path = path.key(field);
    let value = present(metadata, field)?;
    let Some(entries) = value.as_object() else {
        wrong_type("an object", value, &path, findings);
        return None;
    };
    for (key, value) in entries.iter().filter(|(_, value)| !value.is_string() && !value.is_null()) {
        wrong_type("a string", value, &path.key(key), findings);
    }
    Some(entries)
}

fn check_key(key: &str, path: &FieldPath, findings: &mut Findings) {
    if !is_label_key(key) {
        let remedy = "use at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends, \
                      and before it a DNS name and `/` if you like: example.com/team";
        findings.problem(path, Reason::Invalid, "is not a valid key", remedy);
    }
}

/// Whether the API server takes this for the key of a label or an annotation: `NAME` or `PREFIX/NAME`.
pub fn is_label_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && is_qualified_name(name),
        None => is_qualified_name(key),
    }
}

fn is_qualified_name(name: &str) -> bool {
    !name.is_empty() && is_label_value(name)
}

/// Whether the API server takes this for the value of a label.
pub fn is_label_value(value: &str) -> bool {
    let outer = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    value.len() <= 63
        && value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        && outer(value.chars().next())
        && outer(value.chars().next_back())
}

fn is_subdomain(prefix: &str) -> bool {
    let is_part = |part: &str| {
        let outer = |c: Option<char>| c.is_some_and(|c| c != '-');
        part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
            && outer(part.chars().next())
            && outer(part.chars().next_back())
    };
    prefix.len() <= 253 && prefix.split('.').all(is_part)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn found(resource: &Value) -> Vec<(String, String, String)> {
        let mut findings = Findings::default();
        check(resource, &mut findings);
        let words = findings.problems.into_iter();
        words.map(|found| (found.path.to_string(), found.message, found.remedy)).collect()
    }

    #[rstest]
    #[case::usual(json!({"labels": {"app": "a", "example.com/Team_1": ""}}))]
    #[case::null(json!({"labels": null, "annotations": {"a": null}}))]
    #[case::capital_prefix_of_an_annotation(json!({"annotations": {"Example.com/a": "any text: ä"}}))]
    #[case::written_by_the_api_server(json!({"uid": "1", "generation": 2, "managedFields": []}))]
    fn what_the_api_server_accepts(#[case] metadata: Value) {
        assert_eq!(found(&json!({"metadata": metadata, "spec": {}})), []);
    }

    #[rstest]
    #[case(json!({"labels": {"a": 1}}), "metadata.labels.a", "must be a string, not a number")]
    #[case(json!({"labels": {"a": true}}), "metadata.labels.a", "must be a string, not a boolean")]
    #[case(json!({"annotations": {"a": 1}}), "metadata.annotations.a", "must be a string, not a number")]
    #[case(json!({"labels": ["a"]}), "metadata.labels", "must be an object, not a list")]
    #[case(json!({"labels": {"a": "b c"}}), "metadata.labels.a", "is not a value of a label")]
    #[case(json!({"labels": {"-a": ""}}), "metadata.labels.-a", "is not a valid key")]
    #[case(json!({"labels": {"Example.com/a": ""}}), "metadata.labels[Example.com/a]", "is not a valid key")]
    #[case(json!({"annotations": {"a/b/c": ""}}), "metadata.annotations.a/b/c", "is not a valid key")]
    fn what_the_api_server_refuses(
        #[case] metadata: Value,
        #[case] path: &str,
        #[case] message: &str,
    ) {
        let found = found(&json!({"metadata": metadata}));
        let [(at, words, _)] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((at.as_str(), words.as_str()), (path, message));
    }

    #[test]
    fn a_misspelt_field_is_told_which_one_was_meant() {
        let found = found(&json!({"metadata": {"lables": {}}, "extra": 1, "sepc": {}}));
        let remedies: Vec<_> = found.iter().map(|(path, _, remedy)| (&**path, &**remedy)).collect();
        assert!(remedies.contains(&("metadata.lables", "did you mean labels?")), "{remedies:?}");
        assert!(remedies.contains(&("sepc", "did you mean spec?")), "{remedies:?}");
        assert!(remedies.iter().any(|(path, _)| *path == "extra"), "{remedies:?}");
    }
}
