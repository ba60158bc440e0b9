//! How much a resource may hold. This is checked before anything else: what is beyond a limit is neither
//! checked further nor planned, so that its size costs no more than reading it.

use llsd_api::schema::ENTRY;
use serde_json::Value;

use super::value::check_limit;
use crate::problems::{FieldPath, Findings, Problem, Reason};

/// The most levels of nesting that are accepted. Programs that read resources give up at 128, most
/// of them with the whole list that has one such object in it.
pub const DEEPEST: usize = 100;

/// The most values that are accepted, lists and objects included: a hundred times what large resources have.
pub const MOST_VALUES: usize = 20_000;

/// Which limits a resource exceeds. The lists and maps of the schema are named; the others count together.
pub(super) fn check(schema: &Value, resource: &Value, findings: &mut Findings) {
    if depth(resource) > DEEPEST {
        findings.problems.push(too_deep());
    }
    let spec = &resource["spec"];
    lists(schema, spec, &FieldPath::spec(), findings);
    if !findings.exceed_a_limit() && values(spec) > MOST_VALUES {
        findings.problems.push(too_many());
    }
}

/// The lists and maps that are longer than the described schema allows. What is inside of them is not
/// looked at.
fn lists(schema: &Value, value: &Value, path: &FieldPath, findings: &mut Findings) {
    match value {
        Value::Array(items) => {
            if !check_limit(schema, "Items", items.len(), "items", path, findings) {
                return;
            }
            let of_items = schema.get(ENTRY).or(schema.get("items")).unwrap_or(&Value::Null);
            for (index, item) in items.iter().enumerate().filter(|(_, item)| holds(item)) {
                lists(of_items, item, &path.index(index), findings);
            }
        }
        Value::Object(fields) => {
            let schema = schema.get(ENTRY).unwrap_or(schema);
            if !check_limit(schema, "Properties", fields.len(), "fields", path, findings) {
                return;
            }
            let known = schema["properties"].as_object();
            for (field, value) in fields.iter().filter(|(_, value)| holds(value)) {
                let of_field = known.and_then(|known| known.get(field));
                if let Some(schema) = of_field.or(schema.get("additionalProperties")) {
                    lists(schema, value, &path.key(field), findings);
                }
            }
        }
        _ => {}
    }
}

fn holds(value: &Value) -> bool {
    value.is_array() || value.is_object()
}

/// How many lists and objects lie within each other.
fn depth(value: &Value) -> usize {
    match value {
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// How many values there are.
fn values(value: &Value) -> usize {
    match value {
        Value::Object(fields) => 1 + fields.values().map(values).sum::<usize>(),
        Value::Array(items) => 1 + items.iter().map(values).sum::<usize>(),
        _ => 1,
    }
}

/// What is wrong with one that holds more.
pub fn too_many() -> Problem {
    beyond(format!("holds more than {MOST_VALUES} values"))
}

/// What is wrong with a deeper one.
pub fn too_deep() -> Problem {
    beyond(format!("is nested more than {DEEPEST} levels deep"))
}

fn beyond(message: String) -> Problem {
    Problem {
        path: FieldPath::spec(),
        reason: Reason::LimitExceeded,
        message,
        remedy: "shorten what stands in settings, params or metadata".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::super::validate;
    use super::*;
    use crate::facts::Facts;
    use crate::plan::{Planning, parse_and_plan};

    fn resource(spec: &Value) -> Value {
        json!({
            "apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
            "metadata": {"name": "a"}, "spec": spec,
        })
    }

    fn many(count: usize, item: &Value) -> Value {
        Value::Array(vec![item.clone(); count])
    }

    #[rstest]
    #[case::models(
        json!({"resources": {"models": many(257, &json!({"nmae": 1}))}}),
        "spec.resources.models", "has more than 256 items"
    )]
    #[case::shields(
        json!({"resources": {"shields": many(129, &json!("a"))}}),
        "spec.resources.shields", "has more than 128 items"
    )]
    #[case::providers(
        json!({"providers": {"inference": many(33, &json!({}))}}),
        "spec.providers.inference", "has more than 32 items"
    )]
    #[case::references_to_secrets(
        json!({"providers": {"inference": {
            "secretRefs": (0..65).map(|n| (format!("f{n}"), json!(1))).collect::<Value>(),
        }}}),
        "spec.providers.inference.secretRefs", "has more than 64 fields"
    )]
    #[case::of_a_list_entry(
        json!({"providers": {"inference": [{
            "secretRefs": (0..65).map(|n| (format!("f{n}"), json!(1))).collect::<Value>(),
        }]}}),
        "spec.providers.inference[0].secretRefs", "has more than 64 fields"
    )]
    #[case::free_form(
        json!({"providers": {"inference": {"settings": {"a": many(20_000, &json!(1))}}}}),
        "spec", "holds more than 20000 values"
    )]
    fn what_is_beyond_a_limit_is_named_and_nothing_else_is_looked_at(
        #[case] spec: Value,
        #[case] path: &str,
        #[case] message: &str,
    ) {
        let resource = resource(&spec);
        let found = validate(&resource);
        let [problem] = found.problems.as_slice() else { panic!("{found:?}") };
        assert_eq!((problem.path.to_string().as_str(), problem.message.as_str()), (path, message));
        assert_eq!(problem.reason, Reason::LimitExceeded);
        match parse_and_plan(&resource, &Facts::default()) {
            Planning::Refused(refused) => assert_eq!(refused.problems, found.problems),
            other => panic!("it is planned: {other:?}"),
        }
    }

    #[test]
    fn every_list_beyond_its_limit_is_named_at_once() {
        let names = json!(["a"]);
        let spec = json!({
            "resources": {"models": many(100_000, &names), "tools": many(100_000, &names)},
        });
        let paths = validate(&resource(&spec)).problems.into_iter().map(|it| it.path.to_string());
        assert_eq!(paths.collect::<Vec<_>>(), ["spec.resources.models", "spec.resources.tools"]);
    }
}
