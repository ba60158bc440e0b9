//! The tables of resources with their verdicts, checked by the Rust validation alone. The same
//! tables go through a real API server in the tests of `llsd`.

use std::collections::BTreeSet;

use llsd_api::v1alpha2::LlamaStackDistribution;
use llsd_cases::verdicts::{RefusedBy, Verdict};
use llsd_plan::problems::Findings;
use llsd_plan::validate::validate;
use serde_json::{Value, json};

fn refused() -> impl Iterator<Item = (Verdict, Findings)> {
    let refused = Verdict::refused().into_iter();
    let checked_by_spec = refused.filter(|case| case.refused_by != Some(RefusedBy::Operator));
    checked_by_spec.map(|case| {
        let findings = validate(&case.resource());
        (case, findings)
    })
}

#[test]
fn every_resource_that_must_be_accepted_has_no_problem() {
    for case in Verdict::accepted() {
        assert_eq!(validate(&case.resource()).problems, [], "{}", case.name);
    }
}

#[test]
fn every_resource_that_must_be_refused_has_a_problem_with_a_remedy_at_its_path() {
    for (case, findings) in refused() {
        let path = case.path.as_deref().unwrap();
        let named =
            findings.problems.iter().any(|problem| problem.path.to_string().starts_with(path));
        assert!(named, "{}: nothing at {path}: {findings:?}", case.name);
        let silent = findings.problems.iter().any(|p| p.message.is_empty() || p.remedy.is_empty());
        assert!(!silent, "{}: {findings:?}", case.name);
    }
}

/// A rule that no resource of the table breaks would be a rule that nobody has seen at work.
#[test]
fn every_rule_of_the_crd_and_the_policy_is_broken_by_some_resource_of_the_table() {
    let mut said: BTreeSet<String> = BTreeSet::new();
    for (_, findings) in refused() {
        for problem in findings.problems {
            // What follows a colon names the offenders of this one resource.
            let message = problem.message.split(": ").next().unwrap_or_default().to_owned();
            said.insert(message);
        }
    }
    let crd = llsd_api::crd::manifest();
    let mut rules = Vec::new();
    collect_rules(&crd["spec"]["versions"][0]["schema"], &mut rules);
    let policy = &llsd_api::policy::manifests()[0];
    for validation in policy["spec"]["validations"].as_array().unwrap() {
        let text = validation["message"].as_str().unwrap();
        rules.push(text.split_once(": ").unwrap().1.to_owned());
    }
    // It checks a change, which no single resource is.
    rules.retain(|rule| !rule.starts_with(llsd_api::rules::ACCESS_IS_CARRIED.message));
    assert!(rules.len() > 30, "{} rules", rules.len());
    for rule in rules {
        let message = rule.split("; ").next().unwrap();
        let seen =
            said.iter().any(|said| message.starts_with(said.as_str()) || said.starts_with(message));
        assert!(seen, "no resource of the table breaks `{message}`");
    }
}

fn collect_rules(schema: &Value, rules: &mut Vec<String>) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::Array(validations)) = object.get("x-kubernetes-validations") {
                rules.extend(validations.iter().map(|v| v["message"].as_str().unwrap().to_owned()));
            }
            object.values().for_each(|child| collect_rules(child, rules));
        }
        Value::Array(items) => items.iter().for_each(|child| collect_rules(child, rules)),
        _ => {}
    }
}

/// What the API server may store, the types read, and write back as it was.
#[test]
fn every_accepted_resource_is_read_and_written_back_as_it_was() {
    for case in Verdict::accepted() {
        let mut written = without_nulls(case.resource());
        if let Some(resources) = written.pointer_mut("/spec/workload/resources") {
            quantities_as_text(resources);
        }
        let read: LlamaStackDistribution = match serde_json::from_value(written.clone()) {
            Ok(read) => read,
            Err(error) => panic!("{} is not read: {error}", case.name),
        };
        assert_eq!(serde_json::to_value(&read).unwrap(), written, "{}", case.name);
    }
}

/// A quantity may be written as a number; it is read, and written back, as the same in text.
fn quantities_as_text(resources: &mut Value) {
    for amounts in resources.as_object_mut().into_iter().flat_map(|kinds| kinds.values_mut()) {
        for amount in amounts.as_object_mut().into_iter().flat_map(|amounts| amounts.values_mut()) {
            if amount.is_number() {
                *amount = amount.to_string().into();
            }
        }
    }
}

/// The API server drops the nulls of fields that it knows. `settings` and its like are left alone.
fn without_nulls(value: Value) -> Value {
    let kept = ["settings", "config", "metadata", "args", "params"];
    match value {
        Value::Object(object) => object
            .into_iter()
            .filter(|(_, child)| !child.is_null())
            .map(|(key, child)| {
                if kept.contains(&key.as_str()) {
                    (key, child)
                } else {
                    (key, without_nulls(child))
                }
            })
            .collect(),
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

fn v1alpha1(spec: &Value) -> Value {
    json!({
        "apiVersion": "llamastack.io/v1alpha1",
        "kind": "LlamaStackDistribution",
        "metadata": {"name": "old"},
        "spec": spec,
    })
}

fn paths(findings: &Findings) -> Vec<String> {
    findings.problems.iter().map(|problem| problem.path.to_string()).collect()
}

#[test]
fn a_v1alpha1_resource_is_checked_by_its_own_schema() {
    let spec =
        json!({"replicas": "two", "server": {"distribution": {"name": "starter"}, "prot": 1}});
    assert_eq!(paths(&validate(&v1alpha1(&spec))), ["spec.replicas", "spec.server.prot"]);
}

#[test]
fn what_a_v1alpha1_resource_becomes_is_checked_in_the_fields_of_its_author() {
    let spec = json!({"server": {
        "distribution": {},
        "containerSpec": {"port": 70000, "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]},
        "autoscaling": {"minReplicas": 3, "maxReplicas": 2},
    }});
    let expected = [
        "spec.server.autoscaling.maxReplicas",
        "spec.server.containerSpec.env[1]",
        "spec.server.containerSpec.port",
        "spec.server.distribution",
    ];
    assert_eq!(paths(&validate(&v1alpha1(&spec))), expected);
}

#[test]
fn a_low_port_is_fine_in_v1alpha1_and_not_in_v1alpha2() {
    let spec = json!({"server": {
        "distribution": {"name": "starter"},
        "containerSpec": {"port": 443},
    }});
    let old = v1alpha1(&spec);
    assert_eq!(validate(&old).problems, []);
    assert_eq!(paths(&validate(&llsd_api::conversion::up(old))), ["spec.networking.port"]);
}

#[test]
fn an_empty_disruption_budget_of_v1alpha1_goes_on_being_fine() {
    let spec = json!({"server": {"distribution": {"name": "starter"}, "podDisruptionBudget": {}}});
    assert_eq!(validate(&v1alpha1(&spec)).problems, []);
}
