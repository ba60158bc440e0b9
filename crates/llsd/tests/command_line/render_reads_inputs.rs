//! What `llsd render` takes and how it ends: several documents, stdin, v1alpha1, former groups, and
//! an exit code for each way of failing.

use crate::support::{Files, object, parse_documents, resource, run, with_vllm};

fn render(stdin: &str, arguments: &[&str]) -> crate::support::Run {
    run(&[&["render", "-f", "-"], arguments].concat(), stdin)
}

#[test]
fn several_documents_and_files_are_rendered_one_after_the_other() {
    let files = Files::new();
    let file = files.add("c.yaml", &resource("demo", "c"));
    let stdin =
        format!("---\n{}---\n# nothing\n---\n{}", resource("demo", "a"), with_vllm("b", ""));
    let rendered = run(&["render", "-f", "-", &file], &stdin);
    assert_eq!((rendered.code, rendered.stderr.as_str()), (0, ""));
    let deployments: Vec<String> = parse_documents(&rendered.stdout)
        .iter()
        .filter(|object| object["kind"] == "Deployment")
        .map(|object| object["metadata"]["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(deployments, ["a", "b", "c"]);
}

#[test]
fn one_bad_resource_keeps_the_others_back_and_all_problems_are_told() {
    let stdin = format!(
        "{}---\n{}  networking: {{port: 80}}\n---\n{}",
        resource("demo", "a"),
        resource("demo", "b"),
        with_vllm("c", "  resources: {models: [{name: m, provider: nobody}]}\n"),
    );
    let rendered = render(&stdin, &[]);
    assert_eq!((rendered.code, rendered.stdout.as_str()), (1, ""));
    let problems: Vec<&str> =
        rendered.stderr.lines().filter(|line| line.starts_with("-:")).collect();
    assert_eq!(problems.len(), 2, "{}", rendered.stderr);
    assert!(
        problems[0].starts_with("-:12:22: demo/b: spec.networking.port: "),
        "{}",
        rendered.stderr
    );
    assert!(
        problems[1].starts_with("-:20:44: demo/c: spec.resources.models[0].provider: "),
        "{}",
        rendered.stderr
    );
}

#[test]
fn warnings_go_to_stderr_beside_the_objects() {
    let rendered = render(&with_vllm("a", "  disabled: [nothing]\n"), &[]);
    assert_eq!(rendered.code, 0);
    assert!(
        rendered.stderr.starts_with("-:7:14: warning: spec.disabled[0]: "),
        "{}",
        rendered.stderr
    );
    assert!(rendered.stdout.starts_with("apiVersion: v1\n"));
}

#[test]
fn v1alpha1_is_converted_and_told_in_its_own_fields() {
    let text = "\
apiVersion: llamastack.io/v1alpha1
kind: LlamaStackDistribution
metadata: {name: old, namespace: demo}
spec:
  server:
    distribution: {name: starter}
    workers: 2
    containerSpec: {name: mine, port: 9000}
";
    let rendered = render(text, &[]);
    assert_eq!(rendered.code, 0, "{}", rendered.stderr);
    let objects = parse_documents(&rendered.stdout);
    let pod = &object(&objects, "Deployment")["spec"]["template"]["spec"];
    assert_eq!(pod["containers"][0]["name"], "mine");
    assert_eq!(object(&objects, "Service")["spec"]["ports"][0]["port"], 9000);
    let unknown = render(&text.replace("starter", "startr"), &[]);
    assert_eq!(unknown.code, 1);
    assert!(
        unknown
            .stderr
            .starts_with("-:6:26: spec.server.distribution.name: no distribution `startr`"),
        "{}",
        unknown.stderr
    );
}

#[test]
fn the_former_groups_are_rendered_with_a_warning() {
    let rendered = render(&with_vllm("a", "").replace("llamastack.io", "llama.meta.com"), &[]);
    assert_eq!(rendered.code, 0);
    assert!(rendered.stderr.starts_with("-:1:13: warning: apiVersion: "), "{}", rendered.stderr);
}

#[test]
fn text_that_is_no_resource_is_a_problem() {
    for text in ["", "a: b\n", "apiVersion: v1\nkind: ConfigMap\n", "a: [\n"] {
        let rendered = render(text, &[]);
        assert_eq!((rendered.code, rendered.stdout.as_str()), (1, ""), "{text:?}");
        assert!(rendered.stderr.contains("    → "), "{text:?}: {}", rendered.stderr);
    }
}

#[test]
fn a_resource_without_a_name_cannot_be_rendered() {
    let text = resource("demo", "a").replace("name: a,", "generateName: a-,");
    assert_eq!(run(&["validate", "-f", "-"], &text).code, 0);
    let rendered = render(&text, &[]);
    assert_eq!(rendered.code, 1);
    assert!(rendered.stderr.contains("metadata.name: "), "{}", rendered.stderr);
}

#[test]
fn wrong_usage_exits_with_2() {
    let files = Files::new();
    let there = files.add("a.yaml", &resource("demo", "a"));
    for arguments in [
        &["render"][..],
        &["render", "-f", "not-there.yaml"],
        &["render", "-f", &there, "--base", "not-there.yaml"],
        &["render", "-f", &there, "--facts", "not-there.yaml"],
        &["render", "-f", &there, "--image-config", "not-there.json"],
        &["render", "-f", "-", "--base", "-"],
        &["render", "-f", &there, "--release", "latest"],
        &["explain", "-f", &there, "-o", "config"],
    ] {
        let wrong = run(arguments, "");
        assert_eq!((wrong.code, wrong.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(wrong.stderr.starts_with("error: "), "{arguments:?}: {}", wrong.stderr);
    }
}

#[test]
fn what_only_a_registry_has_exits_with_3() {
    let own = with_vllm("a", "").replace("{name: starter}", "{image: registry.example.com/own:1}");
    for command in ["render", "explain"] {
        let unknown = run(&[command, "-f", "-"], &own);
        assert_eq!((unknown.code, unknown.stdout.as_str()), (3, ""));
        assert!(
            unknown.stderr.starts_with("-:5:25: spec.distribution.image: "),
            "{}",
            unknown.stderr
        );
        assert!(unknown.stderr.contains("or give it with --base, "), "{}", unknown.stderr);
    }
    // Without anything to generate the objects are known, and config.yaml is not.
    let default =
        resource("demo", "a").replace("{name: starter}", "{image: registry.example.com/own:1}");
    assert_eq!(render(&default, &[]).code, 0);
    assert_eq!(render(&default, &["-o", "config"]).code, 3);
    // Problems come first: they can be mended at once.
    let both = format!("{own}---\n{}  networking: {{port: 80}}\n", resource("demo", "b"));
    assert_eq!(render(&both, &[]).code, 1);
}
