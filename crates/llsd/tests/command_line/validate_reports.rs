//! How `llsd validate` says what it found: kinds, groups, versions, duplicate keys and broken YAML,
//! each with its line, as text and as JSON.

use std::io::Read;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{resource, run, validate_stdin};

#[test]
fn another_kind_is_passed_over_with_a_warning() {
    let text = format!("apiVersion: v1\nkind: ConfigMap\n---\n{}", resource("demo", "a"));
    let run = validate_stdin(&text);
    assert_eq!(run.code, 0);
    assert_eq!(
        run.stderr,
        "-:2:7: warning: kind: ConfigMap is not a LlamaStackDistribution and was passed over\n    \
         → nothing to do, unless it was meant to be one\n"
    );
    assert!(run.stdout.ends_with("1 resource, 0 problems, 1 warning\n"), "{}", run.stdout);
}

#[test]
fn a_file_without_any_resource_of_ours_is_a_problem() {
    for text in ["", "# only a comment\n", "---\n---\n", "apiVersion: v1\nkind: ConfigMap\n"] {
        let run = validate_stdin(text);
        assert_eq!(run.code, 1, "{text:?}");
        assert!(
            run.stderr.contains("-:1:1: the file holds no LlamaStackDistribution\n"),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn text_that_is_no_object_is_a_problem() {
    for text in ["hello\n", "- a\n- b\n", "42\n", "[]\n"] {
        let run = validate_stdin(text);
        assert_eq!(run.code, 1, "{text:?}");
        assert!(run.stderr.starts_with("-:1:1: this is no Kubernetes object"), "{}", run.stderr);
    }
}

#[test]
fn a_missing_kind_or_api_version_is_a_problem() {
    let run = validate_stdin("metadata:\n  name: a\nkind:\n");
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains(
        "-:1:1: apiVersion: missing\n    → write `apiVersion: llamastack.io/v1alpha2`\n"
    ));
    assert!(
        run.stderr.contains("-:3:1: kind: missing\n    → write `kind: LlamaStackDistribution`\n")
    );
    let wrong = validate_stdin("apiVersion: llamastack.io/v1alpha2\nkind: [x]\n");
    assert!(wrong.stderr.starts_with("-:2:1: kind: not a string\n"), "{}", wrong.stderr);
}

#[test]
fn a_kind_in_the_wrong_case_is_named() {
    let run = validate_stdin(&resource("demo", "a").replace("LlamaStack", "LLamaStack"));
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.starts_with("-:2:7: kind: \"LLamaStackDistribution\" is spelled differently\n")
    );
}

#[test]
fn former_groups_are_read_with_a_warning() {
    for group in ["llamastack.ai", "llama.meta.com"] {
        let run = validate_stdin(&resource("demo", "a").replace("llamastack.io", group));
        assert_eq!(run.code, 0);
        assert!(
            run.stderr.starts_with(&format!("-:1:13: warning: apiVersion: the group \"{group}\""))
        );
        assert!(run.stdout.starts_with("demo/a: valid\n"));
    }
}

#[test]
fn other_groups_and_versions_are_problems() {
    for (api_version, words) in [
        ("example.com/v1alpha2", "belongs to the group \"llamastack.io\", not \"example.com\""),
        ("v1alpha2", "belongs to the group \"llamastack.io\", not \"\""),
        ("llamastack.io/v1", "unknown version \"v1\"; known are v1alpha1 and v1alpha2"),
    ] {
        let run =
            validate_stdin(&resource("demo", "a").replace("llamastack.io/v1alpha2", api_version));
        assert_eq!(run.code, 1);
        assert!(run.stderr.contains(words), "{}", run.stderr);
        assert!(run.stderr.starts_with("-:1:13: apiVersion: "), "{}", run.stderr);
    }
}

#[test]
fn v1alpha1_is_read() {
    let run = validate_stdin(&resource("demo", "a").replace("v1alpha2", "v1alpha1"));
    assert!(!run.stderr.contains("apiVersion"), "{}", run.stderr);
}

#[test]
fn a_key_written_twice_is_a_problem_at_the_second_one() {
    let text =
        format!("{}  distribution:\n    name: other\n    name: starter\n", resource("demo", "a"));
    let run = validate_stdin(&text);
    assert_eq!(run.code, 1);
    assert_eq!(
        run.stderr,
        "-:6:3: spec.distribution: already set on line 5\n    → keep one of them\n\
         -:8:5: spec.distribution.name: already set on line 7\n    → keep one of them\n\
         1 resource, 2 problems, 0 warnings\n"
    );
}

#[test]
fn broken_yaml_is_a_problem_with_line_and_column() {
    for (text, place) in [
        ("a: b\nc: [1, 2\n", "-:2:4: not valid YAML: "),
        ("a: b\n  c: d\n", "-:2:4: not valid YAML: "),
        ("a:\n  \tb: c\n", "-:2:4: a tab in the indentation\n    → indent with spaces\n"),
        ("a:\n\tb: c\n", "-:2:"),
        ("a: *x\n", "-:1:4: not valid YAML: "),
        ("a: 'x\n", "-:2:1: not valid YAML: "),
        ("a: \u{7}\n", "-:1:4: not valid YAML: "),
        ("a: 1\n? [b]\n: 2\n", "-:2:3: a list or mapping cannot be a key\n"),
        ("a: &a [*a]\n", "-:1:8: this alias stands inside the value it points to\n"),
        ("a: .inf\n", "-:1:4: infinity"),
        ("~: 1\n", "-:1:1: null"),
        ("--- {a: 1}\n", "-:1:1: kubectl takes no text on the line of a `---`\n"),
        ("{\"a\": 1,,}\n", "-:1:9: not valid YAML: "),
    ] {
        let run = validate_stdin(text);
        assert_eq!(run.code, 1, "{text:?}");
        assert!(run.stderr.starts_with(place), "{text:?}: {}", run.stderr);
        assert!(run.stderr.ends_with("0 resources, 1 problem, 0 warnings\n"), "{}", run.stderr);
    }
}

#[test]
fn findings_stand_in_the_order_of_the_file_and_name_their_resource() {
    let text = format!(
        "{}---\nkind: Other\napiVersion: v1\n---\n{}",
        resource("demo", "a").replace("llamastack.io", "llamastack.ai"),
        resource("demo", "b").replace("v1alpha2", "v2"),
    );
    let run = validate_stdin(&text);
    let heads: Vec<String> =
        run.stderr.lines().step_by(2).map(|line| line.chars().take(30).collect()).collect();
    assert_eq!(heads[0], "-:1:13: warning: demo/a: apiVe");
    assert_eq!(heads[1], "-:7:7: warning: kind: Other is");
    assert_eq!(heads[2], "-:10:13: demo/b: apiVersion: u");
    assert_eq!(run.stdout, "demo/a: valid\n");
}

#[test]
fn json_output_is_one_document_with_all_findings() {
    let text = format!(
        "{}---\nkind: Other\napiVersion: v1\n---\na: [\n",
        resource("demo", "a").replace("v1alpha2", "v2")
    );
    let run = run(&["validate", "-f", "-", "-o", "json"], &text);
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        report["resources"],
        json!([{
            "file": "-", "document": 1, "namespace": "demo", "name": "a",
            "apiVersion": "llamastack.io/v2",
            "problems": [{
                "path": "apiVersion", "reason": "Invalid",
                "message": "unknown version \"v2\"; known are v1alpha1 and v1alpha2",
                "remedy": "write `apiVersion: llamastack.io/v1alpha2`",
                "line": 1, "column": 13,
            }],
            "warnings": [],
        }])
    );
    assert_eq!(report["documents"][0]["document"], 2);
    assert_eq!(report["documents"][0]["warnings"][0]["reason"], "Ignored");
    assert_eq!(report["documents"][1]["document"], 3);
    assert_eq!(report["documents"][1]["problems"][0]["line"], 10);
    assert_eq!(report["summary"], json!({"resources": 1, "problems": 2, "warnings": 1}));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("many.yaml");
    let many: String =
        (0..5000).map(|number| resource("demo", &format!("a{number}")) + "---\n").collect();
    std::fs::write(&file, many).unwrap();
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("llsd"))
        .args(["validate", "-f"])
        .arg(&file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdout.take().unwrap().read_exact(&mut [0; 10]).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}
