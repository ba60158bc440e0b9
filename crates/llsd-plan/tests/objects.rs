//! Every case of `tests/objects`, compared with the objects that its file holds.
//!
//! `UPDATE_OBJECTS=1 cargo test -p llsd-plan --test objects every_case` writes them anew; look at
//! the difference before you commit it.

use std::collections::BTreeSet;
use std::path::Path;

use llsd_cases::files::repository;
use llsd_cases::golden::GoldenCase;
use llsd_cases::objects::{ObjectCase, listed};
use llsd_cases::programs;
use llsd_plan::objects::{ObjectKind, labels, start_program};
use llsd_plan::plan::{Planning, parse_and_plan};
use serde_json::Value;

#[test]
fn every_case_gives_the_objects_that_its_file_holds() {
    for (file, case) in ObjectCase::all() {
        let (objects, findings) = case.objects();
        assert_eq!(listed(&findings.problems), case.problems, "{}", file.display());
        assert_eq!(listed(&findings.warnings), case.warnings, "{}", file.display());
        let mut planned = objects.manifests();
        planned.iter_mut().for_each(programs::shorten);
        if std::env::var_os("UPDATE_OBJECTS").is_some() {
            write(&file, &planned);
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let expected: Vec<Value> = text
            .split("\n---\n")
            .skip(1)
            .map(|document| serde_saphyr::from_str(document).unwrap())
            .collect();
        for (planned, expected) in planned.iter().zip(&expected) {
            assert_eq!(yaml(planned), yaml(expected), "{}: {}", file.display(), expected["kind"]);
        }
        assert_eq!(planned.len(), expected.len(), "objects of {}", file.display());
    }
}

#[test]
fn every_rule_holds() {
    for rule in ObjectCase::rules() {
        let (objects, findings) = rule.objects();
        assert_eq!(listed(&findings.problems), rule.problems, "{}", rule.about);
        assert_eq!(listed(&findings.warnings), rule.warnings, "{}", rule.about);
        let mut planned = objects.manifests();
        // The same in every case.
        planned.retain(|object| object["metadata"]["name"] != start_program::name());
        for (kind, expected) in &rule.expect {
            let object = planned.iter().find(|object| object["kind"] == **kind);
            let Some(expected) = expected else {
                assert_eq!(object, None, "{}", rule.about);
                continue;
            };
            let object = object.unwrap_or_else(|| panic!("{}: no {kind}", rule.about));
            for (place, value) in expected {
                let found = object.pointer(place).unwrap_or(&Value::Null);
                assert_eq!(found, value, "{}: {place} of {kind}", rule.about);
            }
        }
    }
}

#[test]
fn planning_twice_gives_the_same_bytes() {
    for (file, case) in ObjectCase::all() {
        let bytes =
            |case: &ObjectCase| serde_json::to_string(&case.objects().0.manifests()).unwrap();
        assert_eq!(bytes(&case), bytes(&case), "{}", file.display());
    }
}

/// What watches, retention and takeover know an object by.
#[test]
fn some_case_plans_each_kind_with_its_name_and_labels() {
    let cases = ObjectCase::all().into_iter().map(|(_, case)| case.objects().0);
    let golden = GoldenCase::all().into_iter().filter_map(|case| {
        let Planning::Planned(plan) = parse_and_plan(&case.resource, &case.facts) else {
            return None;
        };
        Some(plan.objects)
    });
    let mut planned = BTreeSet::from([ObjectKind::Job]); // For a change: no part of a plan.
    for object in cases.chain(golden).flat_map(|objects| objects.in_order()) {
        let labels = &object.json["metadata"]["labels"];
        let resource = labels[labels::INSTANCE].as_str();
        assert_eq!(object.kind.resource_named(&object.name), resource, "the name of {object}");
        assert_eq!(labels[labels::MANAGED_BY], labels::OPERATOR, "a label of {object}");
        assert_eq!(object.json["apiVersion"], object.kind.api_version(), "{object}");
        planned.insert(object.kind);
    }
    let page = std::fs::read_to_string(repository("docs/concepts.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with('|'));
    let words: BTreeSet<&str> =
        rows.flat_map(|row| row.split(|c: char| !c.is_alphanumeric())).collect();
    for kind in ObjectKind::ALL {
        let name = kind.name();
        assert!(planned.contains(kind), "add a case that plans a {name}");
        assert!(words.contains(name), "add {name} to the objects in docs/concepts.md");
    }
}

/// What a reader of the objects, or server-side apply, would stumble over.
#[test]
fn no_object_carries_nulls_or_a_status() {
    for (file, case) in ObjectCase::all() {
        for object in case.objects().0.manifests() {
            assert!(object["apiVersion"].is_string() && object["kind"].is_string(), "{object}");
            assert!(object.get("status").is_none(), "{}: {}", file.display(), object["kind"]);
            assert!(!holds_null(&object), "{}: {object}", file.display());
        }
    }
}

fn holds_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(holds_null),
        Value::Object(fields) => fields.values().any(holds_null),
        _ => false,
    }
}

fn yaml(value: &Value) -> String {
    serde_saphyr::to_string(value).unwrap()
}

fn write(file: &Path, planned: &[Value]) {
    let text = std::fs::read_to_string(file).unwrap();
    let input = text.split("\n---\n").next().unwrap().trim_end();
    let documents: Vec<String> = planned.iter().map(yaml).collect();
    std::fs::write(file, format!("{input}\n---\n{}", documents.join("---\n"))).unwrap();
}
