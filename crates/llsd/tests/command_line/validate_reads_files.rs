//! Which texts `llsd validate` takes: files and stdin, YAML and JSON, several documents, lists,
//! encodings; and how it answers the ones it cannot take.

use std::process::Command;

use crate::support::{resource, run, validate_file, validate_stdin};

#[test]
fn a_resource_is_named_as_valid() {
    let run = validate_stdin(&resource("demo", "stack"));
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(run.stdout, "demo/stack: valid\n1 resource, 0 problems, 0 warnings\n");
}

#[test]
fn several_files_are_read_after_one_flag_or_several() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    for name in ["a", "b", "c"] {
        std::fs::write(path(name), resource("demo", name)).unwrap();
    }
    let expected =
        "demo/a: valid\ndemo/b: valid\ndemo/c: valid\n3 resources, 0 problems, 0 warnings\n";
    let one = run(&["validate", "-f", &path("a"), &path("b"), &path("c")], "");
    assert_eq!((one.code, one.stdout.as_str()), (0, expected));
    let several =
        run(&["validate", "-f", &path("a"), "--filename", &path("b"), "-f", &path("c")], "");
    assert_eq!((several.code, several.stdout.as_str()), (0, expected));
    let with_stdin = run(&["validate", "-f", &path("a"), "-f", "-"], &resource("demo", "x"));
    assert_eq!(
        with_stdin.stdout,
        "demo/a: valid\ndemo/x: valid\n2 resources, 0 problems, 0 warnings\n"
    );
}

#[test]
fn empty_documents_are_passed_over() {
    let text = format!(
        "# a licence\n---\n# nothing here\n---\n\n---\n{}---\nnull\n---\n",
        resource("demo", "a")
    );
    let run = validate_stdin(&text);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
}

#[test]
fn several_documents_are_checked_one_by_one() {
    let text = format!("{}---\n{}", resource("demo", "a"), resource("demo", "b"));
    assert_eq!(
        validate_stdin(&text).stdout,
        "demo/a: valid\ndemo/b: valid\n2 resources, 0 problems, 0 warnings\n"
    );
}

#[test]
fn a_broken_document_does_not_hide_the_others() {
    let text = format!("{}---\nspec: [1\n---\n{}", resource("demo", "a"), resource("demo", "b"));
    let run = validate_stdin(&text);
    assert_eq!(run.code, 1);
    assert_eq!(run.stdout, "demo/a: valid\ndemo/b: valid\n");
    assert!(run.stderr.starts_with("-:7:7: not valid YAML: "), "{}", run.stderr);
    assert!(run.stderr.ends_with("2 resources, 1 problem, 0 warnings\n"), "{}", run.stderr);
}

#[test]
fn json_is_read_with_its_lines_also_when_values_follow_each_other() {
    let json = |name: &str, text: &str| {
        format!(
            "{{\n\t\"apiVersion\": \"llamastack.ai/v1alpha2\",\n\t\"kind\": \"LlamaStackDistribution\",\n\
             \t\"metadata\": {{\"name\": \"{name}\", \"annotations\": {{\"k\": \"{text}\\ud83d\\ude00\\/\"}}}},\n\
             \t\"spec\": {{\"distribution\": {{\"name\": \"starter\"}}}}\n}}"
        )
    };
    let long = "k".repeat(2000);
    let run =
        validate_stdin(&format!("{}\n{} {}\n", json("a", &long), json("b", "k"), json("c", &long)));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let places: Vec<&str> =
        run.stderr.lines().filter_map(|line| Some(line.split_once(" warning")?.0)).collect();
    assert_eq!(places, ["-:2:16:", "-:8:16:", "-:13:16:"]);
    let separated = validate_stdin(&format!("{}\n---\n{}\n", json("a", "k"), json("b", "k")));
    assert_eq!(separated.code, 0, "{}", separated.stderr);
}

#[test]
fn a_list_is_unwrapped() {
    let text = "apiVersion: v1
kind: List
items:
- apiVersion: llamastack.io/v1alpha2
  kind: LlamaStackDistribution
  metadata: {name: a}
  spec: &spec {distribution: {name: starter}}
- apiVersion: llamastack.io/v9
  kind: LlamaStackDistribution
  metadata: {name: b}
  spec: *spec
- kind: ConfigMap
";
    let run = validate_stdin(text);
    assert_eq!(run.code, 1);
    assert_eq!(run.stdout, "a: valid\n");
    let lines: Vec<&str> = run.stderr.lines().collect();
    assert!(
        lines[0].starts_with("-:8:15: b: apiVersion: unknown version \"v9\""),
        "{}",
        run.stderr
    );
    assert!(lines[2].starts_with("-:12:3: items[2].apiVersion: missing"), "{}", run.stderr);
}

#[test]
fn a_list_without_items_is_a_problem() {
    let missing = validate_stdin("apiVersion: v1\nkind: List\n");
    assert!(
        missing.stderr.starts_with("-:1:1: items: a List must have items\n"),
        "{}",
        missing.stderr
    );
    let wrong = validate_stdin("apiVersion: v1\nkind: List\nitems: {}\n");
    assert!(wrong.stderr.starts_with("-:3:1: items: "), "{}", wrong.stderr);
    let empty = validate_stdin("apiVersion: v1\nkind: List\nitems: []\n");
    assert!(empty.stderr.contains("the file holds no LlamaStackDistribution"), "{}", empty.stderr);
    assert_eq!([missing.code, wrong.code, empty.code], [1, 1, 1]);
}

#[test]
fn anchors_and_merge_keys_work() {
    let text = "apiVersion: llamastack.io/v1alpha2
kind: LlamaStackDistribution
metadata: {name: &name starter, namespace: demo}
spec: {distribution: {name: *name}}
---
apiVersion: llamastack.io/v1alpha2
kind: LlamaStackDistribution
metadata:
  <<: {name: base, namespace: demo}
  name: b
spec: {distribution: {name: starter}}
";
    assert_eq!(
        validate_stdin(text).stdout,
        "demo/starter: valid\ndemo/b: valid\n2 resources, 0 problems, 0 warnings\n"
    );
}

#[test]
fn byte_order_marks_windows_line_ends_and_utf_16_are_no_obstacle() {
    let text = resource("demo", "a").replace("llamastack.io", "llamastack.ai");
    let crlf = text.replace('\n', "\r\n");
    let utf16: Vec<u8> =
        format!("\u{feff}{crlf}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let utf16_be: Vec<u8> =
        format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_be_bytes).collect();
    for bytes in [format!("\u{feff}{text}").into_bytes(), crlf.into_bytes(), utf16, utf16_be] {
        let (run, file) = validate_file(&bytes);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(run.stderr.starts_with(&format!("{file}:1:13: warning: ")), "{}", run.stderr);
    }
}

#[test]
fn text_that_is_not_utf_8_is_a_problem_at_its_place() {
    let mut bytes = b"apiVersion: llamastack.io/v1alpha2\nkind: \"".to_vec();
    bytes.extend([0xe9, b'"', b'\n']);
    let (run, file) = validate_file(&bytes);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.starts_with(&format!("{file}:2:8: not UTF-8 text: byte 0xe9\n")),
        "{}",
        run.stderr
    );
}

#[test]
fn a_file_that_is_not_there_is_a_usage_error() {
    let missing = run(&["validate", "-f", "not-there.yaml"], "");
    assert_eq!((missing.code, missing.stdout.as_str()), (2, ""));
    assert!(missing.stderr.starts_with("error: not-there.yaml: "), "{}", missing.stderr);
    let folder = tempfile::tempdir().unwrap();
    let directory = run(&["validate", "-f", &folder.path().display().to_string()], "");
    assert_eq!(directory.code, 2);
}

#[test]
fn wrong_usage_exits_with_2_and_help_with_0() {
    assert_eq!(run(&[], "").code, 2);
    assert_eq!(run(&["validate"], "").code, 2);
    assert_eq!(run(&["validate", "-f", "-", "-o", "xml"], "").code, 2);
    assert_eq!(run(&["validate", "-f", "-", "-f", "-"], "").code, 2);
    assert_eq!(run(&["--help"], "").code, 0);
    assert_eq!(run(&["--version"], "").code, 0);
}

#[test]
fn as_a_kubectl_plugin_the_usage_names_kubectl() {
    let folder = tempfile::tempdir().unwrap();
    let plugin = folder.path().join("kubectl-llsd");
    std::os::unix::fs::symlink(assert_cmd::cargo::cargo_bin!("llsd"), &plugin).unwrap();
    let output = Command::new(plugin).args(["validate", "--help"]).output().unwrap();
    let usage = String::from_utf8(output.stdout).unwrap();
    assert!(usage.contains("Usage: kubectl llsd validate"), "{usage}");
}
