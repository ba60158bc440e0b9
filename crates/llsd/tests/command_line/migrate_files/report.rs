//! What is said of every decision, and what is never said.

use super::migrated;
use crate::support::{Files, resource, run};

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
    told("1 of 1 resource migrated; 1 field moved, 3 variables turned, 3 left, 1 carried\n");
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
    let all = "1 of 1 resource migrated; 1 field moved, 0 variables turned, 6 left, 1 carried\n";
    assert!(out.stderr.contains(all), "every one of them counts: {}", out.stderr);
}

#[test]
fn files_are_rewritten_where_they_are() {
    let files = Files::new();
    std::fs::create_dir(files.path("below")).unwrap();
    let old = files.add("below/old.yaml", WITH_KEYS);
    let text = |path: &str| std::fs::read_to_string(path).unwrap();
    let new = files.add("new.yaml", &resource("demo", "a"));
    let other = files.add("other.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n");
    let others = text(&other);
    let printed = run(&["migrate", "-f", &old], "").stdout;
    let done = run(&["migrate", "-f", &files.path(""), "-R", "--in-place"], "");
    assert_eq!((done.code, done.stdout.as_str()), (0, ""), "{}", done.stderr);
    assert!(done.stderr.ends_with(&format!("wrote {old}\n")), "{}", done.stderr);
    assert!(done.stderr.contains("1 of 2 resources migrated; "), "{}", done.stderr);
    assert_eq!(text(&old), printed);
    assert_eq!((text(&new), text(&other)), (resource("demo", "a"), others));
    let again = run(&["migrate", "-f", &old, "--in-place"], "");
    assert!(!again.stderr.contains("wrote "), "{}", again.stderr);
}

#[test]
fn what_else_a_folder_holds_is_neither_printed_nor_rewritten() {
    let files = Files::new();
    let old = files.add("old.yaml", WITH_KEYS);
    let printed = run(&["migrate", "-f", &old], "").stdout;
    let others = [
        ("values.yaml", "replicaCount:   1\n"),
        ("template.yaml", "{{- if .Values.on }}\nkind: Service\n{{- end }}\n"),
    ];
    let paths = others.map(|(name, text)| files.add(name, text));
    let all = run(&["migrate", "-f", &files.path("")], "");
    assert_eq!((all.code, &all.stdout), (0, &printed), "{}", all.stderr);
    let done = run(&["migrate", "-R", "-f", &files.path(""), "--in-place"], "");
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert_eq!(std::fs::read_to_string(&old).unwrap(), printed);
    for (path, (_, text)) in paths.iter().zip(others) {
        assert_eq!(std::fs::read_to_string(path).unwrap(), text);
    }
}

#[test]
fn a_fault_that_both_checks_find_is_told_once() {
    let out = run(&["migrate", "-f", "-"], &(resource("demo", "a") + "  disabled: [evall]\n"));
    assert_eq!((out.code, out.stdout.as_str()), (1, ""));
    assert_eq!(out.stderr.matches("spec.disabled[0]").count(), 1, "{}", out.stderr);
}

#[test]
fn nothing_is_rewritten_that_has_a_problem_or_is_no_yaml() {
    let files = Files::new();
    let sound = files.add("a.yaml", WITH_KEYS);
    let wrong = files.add("b.yaml", &WITH_KEYS.replace("      name: server\n", "      port: 80\n"));
    let done = run(&["migrate", "-f", &sound, &wrong, "--in-place"], "");
    assert_eq!(done.code, 1, "{}", done.stderr);
    assert_eq!(std::fs::read_to_string(&sound).unwrap(), WITH_KEYS);
    let json = serde_json::json!({
        "apiVersion": "llamastack.io/v1alpha1", "kind": "LlamaStackDistribution",
        "metadata": {"name": "a"}, "spec": {"server": {"distribution": {"name": "starter"}}},
    });
    let json = files.add("c.json", &json.to_string());
    let done = run(&["migrate", "-f", &json, "--in-place"], "");
    assert_eq!(done.code, 2, "{}", done.stderr);
    assert!(done.stderr.contains("is JSON, and the result is YAML"), "{}", done.stderr);
    let stdin = run(&["migrate", "-f", "-", "--in-place"], WITH_KEYS);
    assert_eq!((stdin.code, stdin.stderr.contains("`-` is stdin")), (2, true));
}
