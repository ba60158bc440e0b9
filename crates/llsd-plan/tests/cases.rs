//! The golden cases, laid out as [`llsd_cases::golden`] says: what planning makes of each is what the
//! case expects. `UPDATE_CASES=1` writes the expected files and the README again, for a person to
//! read before they are committed.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use llsd_cases::files::repository;
use llsd_cases::golden::{FOLDER, GoldenCase};
use llsd_cases::{programs, specification};
use llsd_plan::config::wiring::VariableValue;
use llsd_plan::plan::{Plan, Planning, parse_and_plan};
use llsd_plan::problems::Problem;
use llsd_yaml::document::{self, Node, Origin};
use serde_json::{Value, json};

#[test]
fn every_case_gives_what_it_says() {
    let cases = GoldenCase::all();
    let update = std::env::var_os("UPDATE_CASES").is_some();
    let differing: Vec<String> =
        cases.iter().filter_map(|case| check(case, update).err()).collect();
    assert!(differing.is_empty(), "{}", differing.join("\n\n"));
    assert!(cases.len() > 40, "only {} cases", cases.len());
}

/// The page that a reader of the cases starts with.
#[test]
fn the_readme_lists_every_case_with_its_first_comment() {
    let file = repository(FOLDER).join("README.md");
    if std::env::var_os("UPDATE_CASES").is_some() {
        fs::write(&file, specification::page()).unwrap();
    }
    let is_current = fs::read_to_string(file).is_ok_and(|text| text == specification::page());
    let remedy = "UPDATE_CASES=1 cargo test -p llsd-plan --test cases";
    assert!(is_current, "{FOLDER}/README.md is stale; write it again with `{remedy}`");
}

fn check(case: &GoldenCase, update: bool) -> Result<(), String> {
    let GoldenCase { name, folder, resource, facts, .. } = case;
    let outcome = parse_and_plan(resource, facts);
    let again = format!("{:?}", parse_and_plan(resource, facts));
    assert_eq!(format!("{outcome:?}"), again, "{name}: planning twice differs");
    let results = results(&outcome);
    let expected = folder.join("expected");
    if update {
        write_expected(&expected, &results);
    }
    let mut differences = String::new();
    for (file, text) in &results {
        let path = expected.join(file);
        let is_object = !["config.yaml", "env.yaml", "findings.txt"].contains(&file.as_str());
        match fs::read_to_string(&path) {
            Ok(wanted) if wanted == *text => {}
            Ok(wanted) => {
                let _ = write!(differences, "\n{file}:\n{}", difference(&wanted, text));
            }
            // Most cases are about the configuration; only those about objects hold them.
            Err(_) if is_object => {}
            Err(_) => {
                let _ = write!(differences, "\n{file} is not expected:\n{text}");
            }
        }
    }
    for entry in fs::read_dir(&expected).into_iter().flatten() {
        let file = entry.unwrap().file_name().to_string_lossy().into_owned();
        if !results.contains_key(&file) {
            let _ = write!(differences, "\n{file} is expected and not there");
        }
    }
    if differences.is_empty() { Ok(()) } else { Err(format!("{name}:{differences}")) }
}

fn results(outcome: &Planning) -> BTreeMap<String, String> {
    let mut results = BTreeMap::new();
    let mut findings = String::new();
    match outcome {
        Planning::Planned(plan) => {
            list(&mut findings, "warning: ", &plan.warnings);
            planned(plan, &mut results);
        }
        Planning::Refused(refused) => {
            list(&mut findings, "problem: ", &refused.problems);
            list(&mut findings, "warning: ", &refused.warnings);
        }
        Planning::Unavailable { missing, warnings } => {
            list(&mut findings, "unavailable: ", missing);
            list(&mut findings, "warning: ", warnings);
        }
    }
    if !findings.is_empty() {
        results.insert("findings.txt".to_owned(), findings);
    }
    results
}

fn planned(plan: &Plan, results: &mut BTreeMap<String, String>) {
    if let Some(generated) = &plan.generated {
        results.insert("config.yaml".to_owned(), generated.text.clone());
    }
    let variables: Vec<Value> = plan
        .environment
        .iter()
        .map(|variable| match &variable.value {
            VariableValue::Literal(value) => json!({"name": variable.name, "value": value}),
            VariableValue::Secret(secret) => json!({
                "name": variable.name,
                "valueFrom": {"secretKeyRef": {"name": secret.name, "key": secret.key}},
            }),
        })
        .collect();
    if !variables.is_empty() {
        results.insert("env.yaml".to_owned(), yaml(Value::Array(variables)));
    }
    let objects = plan.objects.manifests();
    let names = objects
        .iter()
        .map(|object| format!("{} {}\n", text(&object["kind"]), text(&object["metadata"]["name"])));
    let names = names.collect::<String>();
    results.insert("objects.txt".to_owned(), programs::without_hash(&names));
    for mut object in objects {
        programs::shorten(&mut object);
        let kind = text(&object["kind"]).to_lowercase();
        results.insert(format!("{kind}.yaml"), yaml(object));
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn yaml(value: Value) -> String {
    document::text(&Node::from_value(value, &Origin::Base))
}

fn list(text: &mut String, lead: &str, problems: &[Problem]) {
    for Problem { path, reason, message, remedy } in problems {
        let _ = writeln!(text, "{lead}{path}: {message} ({reason:?})\n  {remedy}");
    }
}

/// The lines that only one of the two has.
fn difference(wanted: &str, found: &str) -> String {
    let mut text = String::new();
    for line in wanted.lines().filter(|line| !found.lines().any(|other| other == *line)) {
        let _ = writeln!(text, "- {line}");
    }
    for line in found.lines().filter(|line| !wanted.lines().any(|other| other == *line)) {
        let _ = writeln!(text, "+ {line}");
    }
    if text.is_empty() { "the same lines in another order\n".to_owned() } else { text }
}

fn write_expected(expected: &Path, results: &BTreeMap<String, String>) {
    fs::create_dir_all(expected).unwrap();
    for (file, text) in results {
        let path = expected.join(file);
        let is_object = !["config.yaml", "env.yaml", "findings.txt"].contains(&file.as_str());
        if !is_object || path.exists() {
            fs::write(path, text).unwrap();
        }
    }
    for entry in fs::read_dir(expected).unwrap() {
        let path = entry.unwrap().path();
        if !results.contains_key(&path.file_name().unwrap().to_string_lossy().into_owned()) {
            fs::remove_file(path).unwrap();
        }
    }
}
