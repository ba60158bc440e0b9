//! `llsd explain` says of every line where it came from, and stays the very same configuration.

use crate::support::{Files, parse_documents, resource, run, samples, with_vllm};

fn explain(stdin: &str, arguments: &[&str]) -> crate::support::Run {
    run(&[&["explain", "-f", "-"], arguments].concat(), stdin)
}

/// The line and its origin, of lines that hold something.
fn origins(text: &str) -> Vec<(&str, &str)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.rsplit_once("  # ").unwrap_or((line, ""))).collect()
}

fn origin_of<'a>(text: &'a str, start: &str) -> &'a str {
    let lines = origins(text);
    let found = lines.iter().find(|(line, _)| line.trim_start().starts_with(start));
    found.unwrap_or_else(|| panic!("no line {start}")).1
}

#[test]
fn every_sample_explained_reads_back_as_its_configuration() {
    let mut generated = 0;
    for (name, arguments) in samples() {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let explained = run(&[&["explain"], arguments.as_slice()].concat(), "");
        assert_eq!(explained.code, 0, "{name}: {}", explained.stderr);
        let config = run(&[&["render", "-o", "config"], arguments.as_slice()].concat(), "");
        assert_eq!(parse_documents(&explained.stdout), parse_documents(&config.stdout), "{name}");
        let server = |text: &str| llsd_yaml::document::read(text).unwrap();
        assert_eq!(server(&explained.stdout), server(&config.stdout), "{name}");
        if !explained.stdout.contains(", unchanged: ") {
            generated += 1;
            for (line, origin) in origins(&explained.stdout) {
                let known = origin == "base"
                    || ["spec.", "rule: "].iter().any(|start| origin.starts_with(start));
                assert!(known, "{name}: `{line}` has the origin `{origin}`");
            }
        }
    }
    assert!(generated >= 15, "only {generated} samples have a generated configuration");
}

#[test]
fn a_line_names_the_field_that_asked_for_it() {
    let explained =
        explain(&with_vllm("a", "  resources: {models: [llama]}\n  disabled: [eval]\n"), &[]);
    assert_eq!(explained.code, 0, "{}", explained.stderr);
    let text = &explained.stdout;
    assert_eq!(
        origin_of(text, "base_url: http://vllm:8000/v1"),
        "spec.providers.inference.endpoint"
    );
    assert_eq!(origin_of(text, "- model_id: llama"), "spec.resources.models[0]");
    assert_eq!(origin_of(text, "version: 2"), "base");
    assert!(origin_of(text, "model_type: llm").starts_with("rule: "));
}

#[test]
fn the_head_names_the_base_and_its_digest() {
    let head = |text: &str| text.lines().take(2).map(str::to_owned).collect::<Vec<_>>();
    let embedded = head(&explain(&with_vllm("a", ""), &[]).stdout);
    assert_eq!(embedded[0], "# config.yaml of demo/a, for Llama Stack 0.7.3");
    let start = "# base: the distribution starter, embedded, release 0.7.3, sha256:";
    assert!(embedded[1].starts_with(start), "{}", embedded[1]);
    let files = Files::new();
    let base = files.add("base.yaml", "version: 2\nproviders: {inference: []}\n");
    let given = head(&explain(&with_vllm("a", ""), &["--base", &base]).stdout);
    assert!(given[1].starts_with(&format!("# base: the file {base}, sha256:")), "{}", given[1]);
}

#[test]
fn an_unchanged_file_is_printed_as_it_is_below_one_comment() {
    let starter = llsd_plan::releases::Distribution::all()["starter"].base();
    let default = explain(&resource("demo", "a"), &[]);
    assert_eq!(default.code, 0);
    let (head, rest) = default.stdout.split_once('\n').unwrap();
    let start = "# config.yaml of demo/a, unchanged: the image's own configuration; base: ";
    assert!(head.starts_with(start), "{head}");
    assert_eq!(rest, starter);

    let files = Files::new();
    let facts =
        files.add("facts.yaml", "configMaps: {mine: {data: {config.yaml: \"version: 2\"}}}");
    let text = resource("demo", "a") + "  overrideConfig: {configMapName: mine}\n";
    let own = explain(&text, &["--facts", &facts]);
    let (head, rest) = own.stdout.split_once('\n').unwrap();
    assert!(
        head.contains("unchanged: the file config.yaml of the ConfigMap mine, sha256:"),
        "{head}"
    );
    assert_eq!(rest, "version: 2\n");
    assert_eq!(explain(&text, &[]).code, 3);
}

#[test]
fn several_resources_are_several_documents() {
    let text = format!("{}---\n{}", with_vllm("a", ""), resource("demo", "b"));
    let explained = explain(&text, &[]);
    assert_eq!(explained.code, 0, "{}", explained.stderr);
    assert_eq!(parse_documents(&explained.stdout).len(), 2);
    assert!(explained.stdout.contains("\n---\n# config.yaml of demo/b, unchanged: "));
}

#[test]
fn a_v1alpha1_resource_is_explained_by_its_own_fields() {
    let text = "\
apiVersion: llamastack.io/v1alpha1
kind: LlamaStackDistribution
metadata:
  name: old
  annotations:
    llamastack.io/v1alpha2-extras: '[{\"path\": \"/spec/disabled\", \"is\": [\"eval\"]}]'
spec:
  server: {distribution: {name: starter}, workers: 2}
";
    let explained = explain(text, &[]);
    assert_eq!(explained.code, 0, "{}", explained.stderr);
    assert_eq!(origin_of(&explained.stdout, "workers: 2"), "spec.server.workers");
}

#[test]
fn no_name_in_the_resource_can_end_a_comment() {
    let text = "\
apiVersion: llamastack.io/v1alpha2
kind: LlamaStackDistribution
metadata: {name: a}
spec:
  distribution: {name: starter}
  providers:
    inference:
      provider: vllm
      endpoint: http://vllm:8000
      settings: {\"x\\nversion: 9\\u2028\\u0085#\": 1, \"a # b\": \"c # d\"}
";
    let explained = explain(text, &[]);
    assert_eq!(explained.code, 0, "{}", explained.stderr);
    let config = run(&["render", "-f", "-", "-o", "config"], text);
    assert_eq!(parse_documents(&explained.stdout), parse_documents(&config.stdout));
    assert_eq!(parse_documents(&explained.stdout)[0]["version"], 2);
}
