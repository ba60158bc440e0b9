//! Fields that v1alpha2 has, but not where they were written: `spec.replicas` is
//! `spec.workload.replicas`.

use std::collections::HashMap;
use std::sync::LazyLock;

use llsd_api::rules::UNKNOWN_FIELDS;
use llsd_api::schema::ENTRY;

use super::schema::V1ALPHA2_SPEC;
use crate::problems::{FieldPath, Findings, Reason, Segment};

/// How deep fields are looked for; below are those of containers and policies.
const DEEPEST: usize = 4;

/// Where each field of the spec belongs; nothing where it has several places of the same depth.
static PLACES: LazyLock<HashMap<String, Option<FieldPath>>> = LazyLock::new(|| {
    let mut places = HashMap::new();
    let mut level = vec![(FieldPath::spec(), &*V1ALPHA2_SPEC)];
    for _ in 0..DEEPEST {
        let mut of_level: HashMap<String, Option<FieldPath>> = HashMap::new();
        let mut next = Vec::new();
        for (path, schema) in level {
            let schema = schema.get(ENTRY).unwrap_or(schema);
            for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
                let path = path.key(field);
                next.push((path.clone(), schema));
                let place = of_level.entry(field.clone()).or_insert_with(|| Some(path.clone()));
                if place.as_ref() != Some(&path) {
                    *place = None;
                }
            }
        }
        for (field, place) in of_level {
            places.entry(field).or_insert(place);
        }
        level = next;
    }
    places
});

/// Tells where an unknown field belongs, unless it looks like a misspelt one.
pub(super) fn tell_places(findings: &mut Findings) {
    for problem in &mut findings.problems {
        if problem.reason != Reason::UnknownField || problem.remedy != UNKNOWN_FIELDS.remedy {
            continue;
        }
        let Some(Segment::Key(field)) = problem.path.segments().last() else { continue };
        if let Some(Some(place)) = PLACES.get(field) {
            problem.remedy = format!("write it as {place}");
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::super::v1alpha2::check_written;
    use super::*;

    #[rstest]
    #[case(json!({"replicas": 2}), "spec.replicas", "write it as spec.workload.replicas")]
    #[case(json!({"distribution": {"providers": {}}}), "spec.distribution.providers", "write it as spec.providers")]
    #[case(json!({"env": []}), "spec.env", "write it as spec.workload.overrides.env")]
    #[case(json!({"replcas": 2}), "spec.replcas", UNKNOWN_FIELDS.remedy)]
    fn a_field_at_another_place_is_told_where_it_belongs(
        #[case] spec: Value,
        #[case] path: &str,
        #[case] remedy: &str,
    ) {
        let findings = check_written(&json!({"metadata": {"name": "a"}, "spec": spec}));
        let found = findings.problems.iter().find(|problem| problem.path.to_string() == path);
        assert_eq!(found.expect("it is a problem").remedy, remedy);
    }
}
