//! What is said of every decision, and what is never said.

use super::migrated;
use crate::support::run;

const WITH_KEYS: &str = "\
apiVersion: llamastack.io/v1alpha1
kind: LlamaStackDistribution
metadata:
  name: demo
  namespace: here
spec:
  server:
    distribution:
      name: starter
    containerSpec:
      name: server
      env:
      - name: VLLM_URL
        value: http://vllm.here.svc:8000/v1
      - name: VLLM_API_TOKEN
        value: sk-very-secret
      - name: VLLM_TLS_VERIFY
        value: \"false\"
      - name: TAVILY_SEARCH_API_KEY
        valueFrom: {secretKeyRef: {name: search, key: tavily}}
      - name: POD_IP
        valueFrom: {fieldRef: {fieldPath: status.podIP}}
      - name: OPENAI_API_KEY
        value: sk-another-secret
";

#[test]
fn every_variable_is_told_with_its_line_and_no_secret_is() {
    let out = migrated(WITH_KEYS);
    let told = |part: &str| assert!(out.stderr.contains(part), "{part}\n{}", out.stderr);
    told(
        "-:13:9: turned: spec.server.containerSpec.env[0]: VLLM_URL → spec.providers.inference.endpoint\n",
    );
    told(
        "left: spec.server.containerSpec.env[1]: VLLM_API_TOKEN stays in spec.workload.overrides.env: it holds a secret in clear",
    );
    told("kubectl create secret generic vllm --from-file=api-key=FILE");
    told(
        "turned: spec.server.containerSpec.env[2]: VLLM_TLS_VERIFY → spec.providers.inference.settings.network\n",
    );
    told(
        "turned: spec.server.containerSpec.env[3]: TAVILY_SEARCH_API_KEY → spec.providers.toolRuntime.apiKey\n",
    );
    told("left: spec.server.containerSpec.env[4]: POD_IP stays");
    told(
        "carried: spec.server.containerSpec.name: in the annotation llamastack.io/v1alpha1-extras",
    );
    told("1 of 1 resources migrated; 1 fields moved, 3 variables turned, 3 left\n");
    assert!(!out.stderr.contains("sk-"), "{}", out.stderr);
    assert!(out.stdout.contains("value: sk-very-secret"), "{}", out.stdout);
    assert!(out.stdout.contains("verify: false"), "{}", out.stdout);
}

#[test]
fn problems_are_told_in_the_fields_of_the_file_and_nothing_is_printed() {
    let text = WITH_KEYS.replace("      name: server\n", "      port: 80\n      prot: 1\n");
    let out = run(&["migrate", "-f", "-"], &text);
    assert_eq!((out.code, out.stdout.as_str()), (1, ""));
    assert!(out.stderr.contains("spec.server.containerSpec.prot"), "{}", out.stderr);
    let text = WITH_KEYS.replace("      name: server\n", "      port: 80\n");
    let out = run(&["migrate", "-f", "-"], &text);
    assert_eq!((out.code, out.stdout.as_str()), (1, ""));
    assert!(out.stderr.contains("-:11:13: spec.server.containerSpec.port: "), "{}", out.stderr);
    assert!(!out.stderr.contains("sk-"), "{}", out.stderr);
}

#[test]
fn broken_files_and_wrong_calls_have_their_exit_codes() {
    assert_eq!(run(&["migrate", "-f", "-"], "a: [").code, 1);
    assert_eq!(run(&["migrate", "-f", "-"], "apiVersion: v1\nkind: Secret\n").code, 1);
    assert_eq!(run(&["migrate", "-f", "/nowhere/file.yaml"], "").code, 2);
    assert_eq!(run(&["migrate"], "").code, 2);
    assert_eq!(run(&["migrate", "-f", "-", "-f", "-"], "").code, 2);
    assert_eq!(run(&["migrate", "--dry-run", "-f", "-"], "").code, 2);
    assert_eq!(run(&["migrate", "--in-cluster", "-f", "-"], "").code, 2);
}

#[test]
fn what_an_image_reads_is_not_guessed() {
    let text = WITH_KEYS.replace("name: starter", "image: example.com/own:1");
    let out = migrated(&text);
    assert!(
        out.stderr.contains("left: spec.server.containerSpec.env: all variables stay"),
        "{}",
        out.stderr
    );
    assert!(!out.stdout.contains("providers"), "{}", out.stdout);
}
