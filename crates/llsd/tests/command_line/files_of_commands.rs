//! What `-f` takes: files, folders, lists with commas; the namespace of documents that name none; and what is
//! said to a file that is given without it.

use rstest::rstest;

use crate::support::{Files, Run, object, parse_documents, resource, run, with_vllm};

/// A folder with a resource, one more below it, and other things.
fn folder() -> Files {
    let files = Files::new();
    std::fs::create_dir(files.path("below")).unwrap();
    files.add("b.yml", &resource("demo", "b"));
    files.add("a.yaml", &resource("demo", "a"));
    files.add("service.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n");
    files.add("notes.txt", "no YAML: [");
    files.add("below/c.json", r#"{"apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
        "metadata": {"name": "c", "namespace": "demo"}, "spec": {"distribution": {"name": "starter"}}}"#);
    files
}

fn validated(arguments: &[&str]) -> Run {
    run(&[&["validate"], arguments].concat(), "")
}

#[test]
fn a_folder_stands_for_its_files_in_yaml_and_json() {
    let files = folder();
    let folder = files.path("");
    let flat = validated(&["-f", &folder]);
    let expected = "demo/a: valid\ndemo/b: valid\n2 resources, 0 problems, 0 warnings\n";
    assert_eq!((flat.code, flat.stdout.as_str(), flat.stderr.as_str()), (0, expected, ""));
    for deep in [&["-f", &folder, "-R"][..], &["--recursive", "--filename", &folder]] {
        let deep = validated(deep);
        let expected =
            "demo/a: valid\ndemo/b: valid\ndemo/c: valid\n3 resources, 0 problems, 0 warnings\n";
        assert_eq!((deep.code, deep.stdout.as_str()), (0, expected), "{}", deep.stderr);
    }
}

#[test]
fn commas_separate_files() {
    let files = folder();
    let (a, b) = (files.path("a.yaml"), files.path("b.yml"));
    let both = validated(&["-f", &format!("{b},{a}")]);
    let expected = "demo/b: valid\ndemo/a: valid\n2 resources, 0 problems, 0 warnings\n";
    assert_eq!((both.code, both.stdout.as_str()), (0, expected), "{}", both.stderr);
}

#[test]
fn a_folder_without_resources_is_a_problem_and_one_without_files_wrong_usage() {
    let files = Files::new();
    std::fs::create_dir(files.path("empty")).unwrap();
    let empty = validated(&["-f", &files.path("empty")]);
    assert_eq!(empty.code, 2);
    let words = "no file in it ends in .yaml, .yml or .json; -R takes the folders below it, too\n";
    assert!(empty.stderr.ends_with(words), "{}", empty.stderr);
    for name in ["one.yaml", "two.yaml"] {
        files.add(name, "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n");
    }
    let other = validated(&["-f", &files.path("")]);
    assert_eq!(other.code, 1);
    let words = "one.yaml:1:1: this and the other files hold no LlamaStackDistribution\n";
    assert!(other.stderr.contains(words), "{}", other.stderr);
    assert!(other.stderr.contains("1 problem, 0 warnings"), "{}", other.stderr);
}

#[test]
fn what_is_no_object_is_passed_over_in_a_folder_and_a_problem_where_it_is_named() {
    let files = folder();
    let values = files.add("values.yaml", "replicaCount: 1\n");
    files.add("package.json", r#"{"name": "page", "version": "1.0.0"}"#);
    files.add("kustomization.yaml", "resources: [a.yaml]\n");
    files.add("template.yaml", "{{- if .Values.on }}\nkind: Service\n{{- end }}\n");
    let all = validated(&["-f", &files.path("")]);
    let expected = "demo/a: valid\ndemo/b: valid\n2 resources, 0 problems, 0 warnings\n";
    assert_eq!((all.code, all.stdout.as_str(), all.stderr.as_str()), (0, expected, ""));

    let named = validated(&["-f", &files.path("a.yaml"), &values]);
    assert_eq!(named.code, 1);
    let missing = format!("{values}:1:1: apiVersion: missing\n");
    assert!(named.stderr.starts_with(&missing), "{}", named.stderr);
    let meant = files.add("c.yaml", "kind: LlamaStackDistribution\nmetadata: {name: c}\n");
    let wrong = validated(&["-f", &files.path("")]);
    assert_eq!(wrong.code, 1);
    let missing = format!("{meant}:1:1: apiVersion: missing\n");
    assert!(wrong.stderr.starts_with(&missing), "{}", wrong.stderr);
    assert!(wrong.stderr.ends_with("2 resources, 1 problem, 0 warnings\n"), "{}", wrong.stderr);

    let others = Files::new();
    others.add("values.yaml", "replicaCount: 1\n");
    let none = validated(&["-f", &others.path("")]);
    assert_eq!(none.code, 1);
    assert!(none.stderr.contains("hold no LlamaStackDistribution\n"), "{}", none.stderr);
}

#[test]
fn a_named_file_without_a_resource_is_a_problem_only_where_no_other_has_one() {
    let files = folder();
    let (a, service) = (files.path("a.yaml"), files.path("service.yaml"));
    let empty = files.add("empty.yaml", "# nothing yet\n");
    let expected = format!(
        "{service}:2:7: warning: kind: Service is not a LlamaStackDistribution and was passed over\n    \
         → nothing to do, unless it was meant to be one\n\
         {empty}:1:1: warning: the file holds no LlamaStackDistribution and was passed over\n    \
         → nothing to do, unless it was meant to hold one\n"
    );
    for flags in [&["-f", &a, &service, &empty][..], &["--strict", "-f", &a, &service, &empty]] {
        let some = validated(flags);
        assert_eq!((some.code, some.stderr.as_str()), (0, expected.as_str()));
        assert!(some.stdout.ends_with("1 resource, 0 problems, 2 warnings\n"), "{}", some.stdout);
    }
    let none = validated(&["-f", &service, &empty]);
    assert_eq!(none.code, 1);
    let count = none.stderr.matches(":1:1: the file holds no LlamaStackDistribution\n").count();
    assert_eq!(count, 2, "{}", none.stderr);
}

#[rstest]
#[case(&["validate"])]
#[case(&["render"])]
#[case(&["explain"])]
#[case(&["diff"])]
#[case(&["access", "test", "--path", "/v1/models"])]
fn a_file_without_its_flag_is_told_of_the_flag(#[case] command: &[&str]) {
    let one = run(&[command, &["a.yaml"]].concat(), "");
    assert_eq!(one.code, 2, "{}", one.stderr);
    assert!(one.stderr.contains("this is a file: use -f a.yaml"), "{}", one.stderr);
    let two = run(&[command, &["one", "b.yaml"]].concat(), "");
    assert_eq!(two.code, 2, "{}", two.stderr);
    assert!(two.stderr.contains("files are given with -f: -f b.yaml"), "{}", two.stderr);
}

#[test]
fn migrate_says_so_too() {
    let wrong = run(&["migrate", "old.yaml"], "");
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("files are given with -f: -f old.yaml"), "{}", wrong.stderr);
}

#[test]
fn a_document_without_a_namespace_gets_that_of_the_flag() {
    let text = with_vllm("a", "").replace(", namespace: demo", "");
    let rendered = run(&["render", "-f", "-", "-n", "team"], &text);
    assert_eq!(rendered.code, 0, "{}", rendered.stderr);
    let objects = parse_documents(&rendered.stdout);
    assert!(objects.iter().all(|object| object["metadata"]["namespace"] == "team"));
    assert_eq!(object(&objects, "Deployment")["metadata"]["name"], "a");
    let valid = run(&["validate", "-f", "-", "-n", "team"], &text);
    assert!(valid.stdout.starts_with("team/a: valid\n"), "{}", valid.stdout);
}

#[test]
fn a_document_in_another_namespace_than_that_of_the_flag_is_refused() {
    for command in ["validate", "render", "explain", "diff"] {
        let refused = run(&[command, "-f", "-", "-n", "team"], &resource("demo", "a"));
        assert_eq!(refused.code, if command == "diff" { 2 } else { 1 }, "{}", refused.stderr);
        let expected = "-:3:32: metadata.namespace: \"demo\" is not the namespace that was asked for, \"team\"\n    \
                        → pass -n demo, or remove it from the file\n";
        assert!(refused.stderr.starts_with(expected), "{command}: {}", refused.stderr);
    }
    assert_eq!(run(&["validate", "-f", "-", "-n", "demo"], &resource("demo", "a")).code, 0);
}

#[test]
fn a_resource_that_stands_in_the_input_twice_is_remarked_on() {
    let files = Files::new();
    let first = files.add("first.yaml", &resource("demo", "a"));
    let second =
        files.add("second.yaml", &format!("{}---\n{}", resource("x", "a"), resource("demo", "a")));
    let twice = validated(&["-f", &first, &second]);
    assert_eq!(twice.code, 0, "{}", twice.stderr);
    let expected = format!(
        "{second}:9:18: warning: demo/a: metadata.name: demo/a is also in {first}:3; the one that is applied last \
         counts\n    → keep one of them, or give one another name\n"
    );
    assert_eq!(twice.stderr, expected);
    assert!(twice.stdout.ends_with("3 resources, 0 problems, 1 warning\n"), "{}", twice.stdout);
}

#[test]
fn help_is_a_command_too_and_names_exit_codes() {
    let asked = run(&["help", "diff"], "");
    assert_eq!(asked.code, 0, "{}", asked.stderr);
    assert_eq!(asked.stdout, run(&["diff", "--help"], "").stdout);
    let codes = "Exit codes:\n  0  no difference\n  1  differences\n  2  problems, ";
    assert!(asked.stdout.contains(codes), "{}", asked.stdout);
    assert!(run(&["help"], "").stdout.contains("\n  help "));
    for command in ["validate", "render", "explain", "migrate"] {
        let help = run(&[command, "--help"], "").stdout;
        let (_, codes) = help.split_once("Exit codes:").unwrap();
        assert!(codes.contains("--strict"), "{command}: {codes}");
    }
    for command in ["render", "status", "crd", "version", "run"] {
        let help = run(&[command, "--help"], "").stdout;
        assert!(help.contains("Examples:\n") && help.contains("Exit codes:\n  0  "), "{command}");
    }
}
