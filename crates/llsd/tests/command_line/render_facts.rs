//! `--facts`: what a cluster knows, as a file. Facts change what is planned; a misspelt one is told.

use crate::support::{Files, object, parse_documents, run, with_vllm};

const WITH_KEY: &str = "\
apiVersion: llamastack.io/v1alpha2
kind: LlamaStackDistribution
metadata: {name: a, namespace: demo}
spec:
  distribution: {name: starter}
  providers:
    inference:
      provider: vllm
      endpoint: http://vllm:8000
      apiKey: {name: vllm-creds, key: token}
";

fn render(resource: &str, facts: &str) -> crate::support::Run {
    let files = Files::new();
    let file = files.add("facts.yaml", facts);
    run(&["render", "-f", "-", "--facts", &file], resource)
}

#[test]
fn a_digest_pins_the_image_and_an_owner_owns_the_objects() {
    let facts = "image: {digest: \"sha256:1234\"}\nownerUid: 0b9a-uid\n";
    let rendered = render(&with_vllm("a", ""), facts);
    assert_eq!(rendered.code, 0, "{}", rendered.stderr);
    let objects = parse_documents(&rendered.stdout);
    let image =
        &object(&objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]["image"];
    assert!(image.as_str().unwrap().ends_with(":0.7.3@sha256:1234"), "{image}");
    assert_eq!(object(&objects, "Service")["metadata"]["ownerReferences"][0]["uid"], "0b9a-uid");
}

#[test]
fn what_is_not_mentioned_is_assumed_to_exist_unless_the_facts_are_complete() {
    assert_eq!(render(WITH_KEY, "{}").code, 0);
    assert_eq!(render(WITH_KEY, "").code, 0);
    for facts in ["complete: true", "secrets: {vllm-creds: {missing: true}}"] {
        let refused = render(WITH_KEY, facts);
        assert_eq!(refused.code, 1, "{facts}");
        assert!(
            refused.stderr.starts_with(
                "-:10:7: spec.providers.inference.apiKey: \
                 Secret not found: vllm-creds (namespace demo)\n"
            ),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn a_secret_that_would_stop_the_server_is_refused_without_its_value() {
    for (fact, words) in [("empty", "is empty"), ("coerced", "looks like a number or boolean")] {
        let facts = format!("secrets: {{vllm-creds: {{keys: {{token: {{{fact}: true}}}}}}}}");
        let refused = render(WITH_KEY, &facts);
        assert_eq!(refused.code, 1);
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
}

/// A value has no place in the facts, so it can neither be used nor be printed.
#[test]
fn a_secret_value_is_no_fact_and_is_not_repeated() {
    let refused = render(WITH_KEY, "secrets: {vllm-creds: {keys: {token: {value: hunter2}}}}");
    assert_eq!(refused.code, 1);
    assert!(
        refused
            .stderr
            .contains(":1:39: secrets.vllm-creds.keys.token.value: unknown field `value`"),
        "{}",
        refused.stderr
    );
    assert!(!refused.stderr.contains("hunter2"), "{}", refused.stderr);
    let wrong = render(WITH_KEY, "secrets: {vllm-creds: {keys: {token: {hash: [hunter2]}}}}");
    assert_eq!(wrong.code, 1);
    assert!(!wrong.stderr.contains("hunter2"), "{}", wrong.stderr);
    let plain = render(WITH_KEY, "secrets: {vllm-creds: {keys: {token: hunter2}}}");
    assert_eq!(plain.code, 1);
    assert!(!plain.stderr.contains("hunter2"), "{}", plain.stderr);
}

#[test]
fn wrong_facts_are_told_with_their_place() {
    for (facts, words) in [
        (
            "image:\n  relase: 0.7.3\n",
            ":2:3: image.relase: unknown field `relase`, expected one of",
        ),
        ("image:\n  release: 0.7\n", ":2:12: image.release: must be a string"),
        ("complete: true\ncomplete: false\n", ":2:1: complete: already set on line 1"),
        ("a: [\n", "not valid YAML"),
        ("{}\n---\n{}\n", "facts are one document"),
        ("- image\n", ":1:1: facts are a mapping"),
        ("operator: x\n", ":1:11: operator: must be a mapping"),
        ("image: {base: {text: x, source: Web}}\n", "image.base.source: unknown variant `Web`"),
    ] {
        let wrong = render(&with_vllm("a", ""), facts);
        assert_eq!((wrong.code, wrong.stdout.as_str()), (1, ""), "{facts}");
        assert!(wrong.stderr.contains(words), "{facts}: {}", wrong.stderr);
        assert!(wrong.stderr.contains("docs/configuration.md") || words == "not valid YAML");
    }
}

#[test]
fn a_cluster_with_routes_gets_a_route() {
    let exposed = with_vllm("a", "  networking: {expose: true}\n");
    let kinds = |facts: &str| -> Vec<String> {
        let objects = parse_documents(&render(&exposed, facts).stdout);
        objects.iter().map(|object| object["kind"].as_str().unwrap().to_owned()).collect()
    };
    assert!(kinds("{}").contains(&"Ingress".to_owned()));
    assert!(kinds("servedApis: [route.openshift.io]").contains(&"Route".to_owned()));
}

#[test]
fn a_wrong_item_of_a_list_has_its_place() {
    let rendered = render(&with_vllm("a", ""), "image:\n  variables: [HOME, [PATH]]\n");
    assert_eq!(rendered.code, 1, "{}", rendered.stderr);
    assert!(
        rendered.stderr.contains("image.variables[1]: must be a string"),
        "{}",
        rendered.stderr
    );
}
