//! `llsd explain` of a field: what it takes and what it is for, without a cluster.

use serde_json::{Value, json};

use crate::support::{run, with_vllm};

fn explained(path: &str) -> String {
    let said = run(&["explain", path], "");
    assert_eq!(said.code, 0, "{}", said.stderr);
    said.stdout
}

#[test]
fn a_field_says_its_type_its_version_and_what_it_is_for() {
    let expected = "\
field     spec.providers.inference.endpoint
type      string
version   v1alpha2 only

Address, for example `http://vllm:8000`.
";
    assert_eq!(explained("spec.providers.inference.endpoint"), expected);
    let port = explained("llsd.spec.networking.port");
    for line in [
        "type      integer, 1024 to 65535\n",
        "default   8321\n",
        "version   v1alpha2; spec.server.containerSpec.port in v1alpha1\n",
    ] {
        assert!(port.contains(line), "{line}: {port}");
    }
}

#[test]
fn a_field_of_two_shapes_says_both_and_lists_what_is_below_it() {
    let inference = explained("spec.providers.inference");
    assert!(inference.contains("type      an object or a list of objects\n"), "{inference}");
    let provider =
        inference.lines().find(|line| line.trim_start().starts_with("provider ")).unwrap();
    assert!(provider.contains("string: Type: a short name"), "{provider}");
    let key = explained("spec.providers.inference[0].apiKey.secretKeyRef.name");
    assert!(key.contains("type      string, required\n"), "{key}");
}

#[test]
fn a_field_that_only_some_servers_have_use_for_says_which() {
    let telemetry = explained("spec.providers.telemetry");
    assert!(telemetry.contains("servers   until 0.2.24\n"), "{telemetry}");
    let tenancy = explained("spec.access.tenancy");
    assert!(tenancy.contains("servers   OGX 1.2.5 and later\n"), "{tenancy}");
    assert!(!explained("spec.providers.inference").contains("servers   "));
}

#[test]
fn both_versions_are_explained() {
    let said =
        run(&["explain", "spec.server.workers", "--api-version", "llamastack.io/v1alpha1"], "");
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.contains("v1alpha1; spec.workload.workers in v1alpha2"), "{}", said.stdout);
    let wrong = run(&["explain", "spec.server.workers"], "");
    assert_eq!(wrong.code, 2, "{}", wrong.stdout);
}

#[test]
fn a_misspelt_path_gets_a_suggestion() {
    for (path, answer) in [
        (
            "spec.networking.prot",
            "spec.networking has no field prot; did you mean spec.networking.port?",
        ),
        ("spec.replicas", "spec has no field replicas; did you mean spec.workload.replicas?"),
        ("metadata.name", "`kubectl explain llsd.metadata` has its fields"),
    ] {
        let said = run(&["explain", path], "");
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{path}");
        assert!(said.stderr.contains(answer), "{path}: {}", said.stderr);
    }
}

#[test]
fn programs_get_the_same_as_json() {
    let said = run(&["explain", "spec.networking.port", "-o", "json"], "").stdout;
    let found: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(found["path"], "spec.networking.port");
    assert_eq!(found["default"], 8321);
    assert_eq!(found["otherVersion"]["path"], "spec.server.containerSpec.port");
}

#[test]
fn every_line_of_a_configuration_has_its_origin_in_json_too() {
    let resource = with_vllm("mine", "");
    let text = run(&["explain", "-f", "-"], &resource).stdout;
    let json = run(&["explain", "-f", "-", "-o", "json"], &resource);
    assert_eq!(json.code, 0, "{}", json.stderr);
    let found: Value = serde_json::from_str(&json.stdout).unwrap();
    let mine = &found["resources"][0];
    assert_eq!((&mine["namespace"], &mine["name"]), (&json!("demo"), &json!("mine")));
    let lines = mine["lines"].as_array().unwrap();
    assert_eq!(lines.len(), text.lines().count() - 3, "all but the three lines above them");
    let endpoint = lines.iter().find(|line| line["field"] == "spec.providers.inference.endpoint");
    assert!(endpoint.unwrap()["text"].as_str().unwrap().contains("base_url: http://vllm:8000/v1"));
    let config = run(&["render", "-f", "-", "-o", "config"], &resource).stdout;
    let parsed = |text: &str| serde_saphyr::from_str::<Value>(text).unwrap();
    let texts: Vec<&str> = lines.iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert_eq!(parsed(&texts.join("\n")), parsed(&config));
}
