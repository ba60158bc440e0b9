//! The text around the fields: comments, documents, quotes, line ends.

use super::{migrated, rendered};
use crate::support::{parse_documents, run};

const COMMENTED: &str = "\
# A server for the demo.
---
# It talks to Ollama.
apiVersion: llama.meta.com/v1alpha1 # a group of old
kind: LlamaStackDistribution
metadata:
  name: demo  # short
  labels: {team: \"a\"}   # of ours

# What it should be.
spec:
  # Two of them.
  replicas: 2 # not more
  # The server itself.
  server:
    distribution:
      name: 'starter'
    containerSpec:
      # The usual port.
      port: 8321
      env:
      # The model that we like.
      - name: OLLAMA_INFERENCE_MODEL
        value: \"llama3.2:1b\" # small
      # Where Ollama is.
      - name: OLLAMA_URL
        value: 'http://ollama.svc:11434'
      # Talkative.
      - name: LOG_LEVEL # of our own
        value: debug
    storage:
      size: \"20Gi\"  # enough
  network:
    allowedFrom:
      # They look at it.
      namespaces: [\"monitoring\"]
# The end.
---
# A Secret of nobody's business.
apiVersion: v1
kind: Secret
metadata: {name: other}
stringData:   {a:   b}
";

const EXPECTED: &str = "\
# A server for the demo.
---
# It talks to Ollama.
apiVersion: llamastack.io/v1alpha2 # a group of old
kind: LlamaStackDistribution
metadata:
  name: demo  # short
  labels: {team: \"a\"}   # of ours

# What it should be.
spec:
  # The server itself.
  distribution:
    name: 'starter'
  providers:
    inference:
      provider: ollama
      # Where Ollama is.
      endpoint: 'http://ollama.svc:11434'
  resources:
    models:
    # The model that we like.
    - name: \"llama3.2:1b\" # small
  networking:
    # The usual port.
    port: 8321
    allowedFrom:
      # They look at it.
      namespaces: [\"monitoring\"]
  workload:
    # Two of them.
    replicas: 2 # not more
    storage:
      size: \"20Gi\"  # enough
    overrides:
      env:
      # Talkative.
      - name: LOG_LEVEL # of our own
        value: debug
# The end.
---
# A Secret of nobody's business.
apiVersion: v1
kind: Secret
metadata: {name: other}
stringData:   {a:   b}
";

#[test]
fn comments_go_with_their_fields_and_other_documents_stay_byte_for_byte() {
    assert_eq!(migrated(COMMENTED).stdout, EXPECTED);
    assert_eq!(migrated(EXPECTED).stdout, EXPECTED);
}

#[test]
fn files_with_windows_line_ends_keep_them() {
    let text = COMMENTED.replace('\n', "\r\n");
    assert_eq!(migrated(&text).stdout, EXPECTED.replace('\n', "\r\n"));
}

#[test]
fn no_comment_is_lost_when_its_field_is() {
    let text = COMMENTED
        .replace("      - name: OLLAMA_URL\n", "      - name: OLLAMA_URL # one\n        # two\n")
        .replace(
            "    containerSpec:\n",
            "    containerSpec: # three\n      name: llama-stack # four\n",
        );
    let out = migrated(&text).stdout;
    for line in text.lines().filter_map(|line| line.split_once('#')) {
        assert_eq!(out.matches(&format!("#{}", line.1)).count(), 1, "{}\n{out}", line.1);
    }
}

#[test]
fn anchors_are_written_out_and_the_comments_stay() {
    let text = COMMENTED.replace("value: debug", "value: &level debug # loud").replace(
        "      - name: LOG_LEVEL",
        "      - name: SHOUT\n        value: plain\n      - name: LOG_LEVEL",
    );
    let out = migrated(&text).stdout;
    assert!(out.contains("value: debug # loud"), "{out}");
    assert!(!out.contains('&'), "{out}");
}

#[test]
fn lists_of_resources_are_migrated_inside() {
    let text = "\
apiVersion: v1
kind: List
items:
# the first
- apiVersion: llamastack.io/v1alpha1
  kind: LlamaStackDistribution
  metadata: {name: one}
  spec:
    server:
      distribution: {name: starter} # of one
- apiVersion: v1
  kind: ConfigMap
  metadata:   {name: untouched}
";
    let expected = "\
apiVersion: v1
kind: List
items:
# the first
- apiVersion: llamastack.io/v1alpha2
  kind: LlamaStackDistribution
  metadata: {name: one}
  spec:
    distribution: {name: starter} # of one
- apiVersion: v1
  kind: ConfigMap
  metadata:   {name: untouched}
";
    assert_eq!(migrated(text).stdout, expected);
}

#[test]
fn json_is_read_and_yaml_is_written() {
    let yaml = "\
apiVersion: llamastack.io/v1alpha1
kind: LlamaStackDistribution
metadata: {name: demo}
spec: {server: {distribution: {name: starter}, containerSpec: {port: 9000}}}
";
    let json = serde_json::to_string_pretty(&parse_documents(yaml)[0]).unwrap();
    let both = format!("{json}\n{json}\n");
    let out = migrated(&both).stdout;
    assert!(out.starts_with("apiVersion: llamastack.io/v1alpha2\n"), "{out}");
    assert_eq!(parse_documents(&out).len(), 2);
    assert_eq!(parse_documents(&migrated(yaml).stdout)[0], parse_documents(&out)[0]);
    assert_eq!(migrated(&out).stdout, out);
}

#[test]
fn several_files_become_one_stream() {
    let files = crate::support::Files::new();
    let one = files.add("one.yaml", COMMENTED);
    let two = files.add("two.yaml", "apiVersion: llamastack.io/v1alpha1\nkind: LlamaStackDistribution\nmetadata: {name: two}\nspec: {server: {distribution: {name: starter}}}");
    let out = run(&["migrate", "-f", &one, "-f", &two], "");
    assert_eq!(out.code, 0, "{}", out.stderr);
    assert_eq!(parse_documents(&out.stdout).len(), 3);
    assert!(out.stdout.starts_with(EXPECTED), "{}", out.stdout);
}

/// The draft of the quickstart, which had providers below `server`.
#[test]
fn a_draft_with_providers_below_the_server_is_understood() {
    let text = "\
apiVersion: llama.meta.com/v1alpha1
kind: LlamaStackDistribution
metadata:
  name: my-stack
spec:
  server:
    distribution:
      name: starter
    providers:
      inference:
        provider: vllm
        endpoint: \"http://vllm:8000\"
        apiKey:
          secretKeyRef:
            name: vllm-creds
            key: token
    resources:
      models:
        - \"llama3.2-8b\"
    storage:
      type: postgres # the big one
      connectionString:
        secretKeyRef: {name: pg, key: dsn}
      size: 5Gi
";
    let expected = "\
apiVersion: llamastack.io/v1alpha2
kind: LlamaStackDistribution
metadata:
  name: my-stack
spec:
  distribution:
    name: starter
  providers:
    inference:
      provider: vllm
      endpoint: \"http://vllm:8000\"
      apiKey:
        secretKeyRef:
          name: vllm-creds
          key: token
  resources:
    models:
      - \"llama3.2-8b\"
  storage:
    sql:
      type: postgres # the big one
      connectionString:
        secretKeyRef: {name: pg, key: dsn}
  workload:
    storage:
      size: 5Gi
";
    let out = migrated(text).stdout;
    assert_eq!(out, expected);
    rendered(&out);
}
