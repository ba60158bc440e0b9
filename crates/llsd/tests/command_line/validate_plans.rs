//! `llsd validate` also finds what only planning can: what the operator would find, offline.

use llsd_cases::verdicts::{RefusedBy, Verdict};
use serde_json::Value;

use crate::support::{Files, run, starter_base, with_vllm};

fn checked(resource: &str, arguments: &[&str]) -> Value {
    let all = [&["validate", "-f", "-", "-o", "json"], arguments].concat();
    let run = run(&all, resource);
    serde_json::from_str::<Value>(&run.stdout).unwrap()["resources"][0].clone()
}

#[test]
fn what_is_left_to_the_operator_is_refused_at_its_path() {
    let left: Vec<_> = Verdict::refused()
        .into_iter()
        .filter(|case| case.refused_by == Some(RefusedBy::Operator))
        .collect();
    assert!(left.len() >= 8, "the table holds {}", left.len());
    for case in left {
        let checked = checked(&case.resource().to_string(), &[]);
        let (path, says) = (case.path.unwrap(), case.says.unwrap().to_lowercase());
        let named = checked["problems"].as_array().unwrap().iter().any(|problem| {
            let text = |field: &str| problem[field].as_str().unwrap().to_owned();
            let words = (text("message") + &text("remedy")).to_lowercase();
            text("path").starts_with(&path) && words.contains(&says)
        });
        assert!(named, "{}: nothing of `{says}` at {path}: {checked:#}", case.name);
    }
}

#[test]
fn a_finding_of_planning_has_its_line() {
    let text = with_vllm("a", "  resources:\n    models:\n    - {name: m, provider: nobody}\n");
    let run = run(&["validate", "-f", "-"], &text);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.starts_with("-:9:27: spec.resources.models[0].provider: there is no inference"),
        "{}",
        run.stderr
    );
}

#[test]
fn what_both_checks_find_is_told_once() {
    let text = with_vllm("a", "  networking: {port: 80}\n  disabled: [nothing]\n");
    let checked = checked(&text, &[]);
    assert_eq!(checked["problems"].as_array().unwrap().len(), 1, "{checked:#}");
    assert_eq!(checked["warnings"].as_array().unwrap().len(), 1, "{checked:#}");
}

#[test]
fn without_the_configuration_of_an_image_a_warning_says_what_was_not_checked() {
    let own = with_vllm("a", "  resources: {models: [{name: m, provider: nobody}]}\n")
        .replace("{name: starter}", "{image: registry.example.com/own:1}");
    let alone = run(&["validate", "-f", "-"], &own);
    assert_eq!(alone.code, 0, "{}", alone.stderr);
    assert_eq!(
        alone.stderr,
        "-:5:25: warning: spec.distribution.image: the configuration inside \
         registry.example.com/own:1 is not known offline, so the generated configuration was not \
         checked\n    → ask the registry with --registry, or give it with --base, --image-config or \
         --facts\n"
    );
    assert_eq!(alone.stdout, "demo/a: valid\n1 resource, 0 problems, 1 warning\n");
    let base = starter_base("0.6.1");
    let given = run(&["validate", "-f", "-", "--base", base.to_str().unwrap()], &own);
    assert_eq!(given.code, 1);
    assert!(given.stderr.contains("spec.resources.models[0].provider: "), "{}", given.stderr);
}

#[test]
fn a_base_or_facts_that_cannot_be_used_are_problems_of_their_own_files() {
    let files = Files::new();
    let (base, facts) = (files.add("base.yaml", "a: [\n"), files.add("facts.yaml", "imaje: 1\n"));
    let text = with_vllm("a", "  networking: {port: 80}\n");
    let run = run(&["validate", "-f", "-", "--base", &base, "--facts", &facts], &text);
    assert_eq!(run.code, 1);
    for start in [format!("{base}:1:4: "), format!("{facts}:1:1: imaje: "), "-:7:22: ".to_owned()] {
        let found = run.stderr.lines().any(|line| line.starts_with(&start));
        assert!(found, "{start}: {}", run.stderr);
    }
    assert!(run.stderr.ends_with("1 resource, 3 problems, 0 warnings\n"), "{}", run.stderr);
}

#[test]
fn a_v1alpha1_resource_is_planned_too() {
    let text = "\
apiVersion: llamastack.io/v1alpha1
kind: LlamaStackDistribution
metadata: {name: old}
spec:
  server:
    distribution: {name: startr}
";
    let run = run(&["validate", "-f", "-"], text);
    assert_eq!(run.code, 1);
    assert!(run.stderr.starts_with("-:6:26: spec.server.distribution.name: "), "{}", run.stderr);
}

#[test]
fn a_namespace_that_is_none_is_told_with_its_line() {
    for namespace in ["123", "Demo", "a/b", "a.b", "-a"] {
        let text =
            with_vllm("a", "").replace("namespace: demo", &format!("namespace: {namespace}"));
        let run = run(&["validate", "-f", "-"], &text);
        assert_eq!(run.code, 1, "{namespace}");
        assert!(run.stderr.starts_with("-:3:32: metadata.namespace: "), "{}", run.stderr);
    }
    let none = with_vllm("a", "").replace("namespace: demo", "namespace: \"\"");
    assert_eq!(run(&["validate", "-f", "-"], &none).code, 0);
    let rendered = run(&["render", "-f", "-"], &none);
    assert!(rendered.stdout.contains("  namespace: default\n"), "{}", rendered.stderr);
}

/// Planning reads into types what validation checks as JSON. Both must take the same.
#[test]
fn every_accepted_resource_can_be_read_by_planning() {
    for case in Verdict::accepted() {
        let checked = checked(&case.resource().to_string(), &[]);
        for problem in checked["problems"].as_array().unwrap() {
            let message = problem["message"].as_str().unwrap();
            assert!(!message.contains("cannot read"), "{}: {checked:#}", case.name);
        }
    }
}
