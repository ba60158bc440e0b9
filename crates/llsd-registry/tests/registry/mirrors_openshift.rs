//! OpenShift's mirror objects give the same rules as the operator's own configuration.

use llsd_registry::mirrors::{Converted, Registries, mirror_rules};
use rstest::rstest;
use serde_json::{Value, json};

const DIGEST: &str = "@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn object(api_version: &str, kind: &str, list: &str, entries: &Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "air-gap"},
        "spec": {list: entries}})
}

fn digest_set(entries: &Value) -> Value {
    object("config.openshift.io/v1", "ImageDigestMirrorSet", "imageDigestMirrors", entries)
}

fn references(converted: Converted, reference: &str) -> Vec<String> {
    assert_eq!(converted.problems, []);
    let mut registries = Registries::default();
    registries.add_rules(converted.rules);
    registries.candidates(reference).into_iter().map(|candidate| candidate.reference).collect()
}

#[rstest]
#[case("ImageDigestMirrorSet", "imageDigestMirrors", DIGEST, ":1")]
#[case("ImageContentSourcePolicy", "repositoryDigestMirrors", DIGEST, ":1")]
#[case("ImageTagMirrorSet", "imageTagMirrors", ":1", DIGEST)]
fn each_kind_is_for_its_references(
    #[case] kind: &str,
    #[case] list: &str,
    #[case] mirrored: &str,
    #[case] left_alone: &str,
) {
    let entries = json!([{"source": "quay.io/team", "mirrors": ["a.internal/x", "b.internal"]}]);
    let object = object("config.openshift.io/v1", kind, list, &entries);
    assert_eq!(
        references(mirror_rules(&object), &format!("quay.io/team/server{mirrored}")),
        [
            format!("a.internal/x/server{mirrored}"),
            format!("b.internal/server{mirrored}"),
            format!("quay.io/team/server{mirrored}"),
        ]
    );
    let reference = format!("quay.io/team/server{left_alone}");
    assert_eq!(references(mirror_rules(&object), &reference), [reference]);
}

#[test]
fn the_source_policy_is_kept() {
    let object = digest_set(&json!([
        {"source": "*.example.com", "mirrors": ["a.internal"], "mirrorSourcePolicy": "NeverContactSource"},
    ]));
    let reference = format!("x.example.com/server{DIGEST}");
    assert_eq!(
        references(mirror_rules(&object), &reference),
        [format!("a.internal/server{DIGEST}")]
    );
}

#[test]
fn the_older_kind_always_falls_back_to_the_source() {
    let entries = json!([{"source": "quay.io", "mirrors": ["a.internal"],
        "mirrorSourcePolicy": "NeverContactSource"}]);
    let object = object(
        "operator.openshift.io/v1alpha1",
        "ImageContentSourcePolicy",
        "repositoryDigestMirrors",
        &entries,
    );
    assert_eq!(references(mirror_rules(&object), &format!("quay.io/x{DIGEST}")).len(), 2);
}

#[test]
fn an_entry_without_mirrors_changes_nothing() {
    let object = digest_set(&json!([{"source": "quay.io"}, {"source": "ghcr.io", "mirrors": []}]));
    assert_eq!(mirror_rules(&object), Converted::default());
}

#[test]
fn a_bad_entry_is_reported_and_hides_no_other() {
    let object = digest_set(&json!([
        {"source": "https://quay.io", "mirrors": ["a.internal"]},
        "quay.io",
        {"source": "ghcr.io", "mirrors": ["a.internal"], "fromTheFuture": true},
    ]));
    let converted = mirror_rules(&object);
    let problems: Vec<String> = converted.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "ImageDigestMirrorSet/air-gap spec.imageDigestMirrors[0].source: must be host[:port], \
             or *.domain[:port] for every host below it",
            "ImageDigestMirrorSet/air-gap spec.imageDigestMirrors[1]: must be an object",
        ]
    );
    assert_eq!(converted.rules.len(), 1);
}

#[rstest]
#[case(json!(null))]
#[case(json!({"kind": "ConfigMap"}))]
fn another_object_is_refused(#[case] object: Value) {
    assert_eq!(mirror_rules(&object).problems[0].path, "kind");
}

#[test]
fn configured_rules_come_first() {
    let mut registries =
        Registries::parse("mirrors: [{source: quay.io, mirrors: [own.internal]}]").unwrap();
    let object = digest_set(&json!([{"source": "quay.io", "mirrors": ["cluster.internal"]}]));
    registries.add_rules(mirror_rules(&object).rules);
    let hosts: Vec<String> = registries
        .candidates(&format!("quay.io/x{DIGEST}"))
        .iter()
        .map(|candidate| candidate.host().to_owned())
        .collect();
    assert_eq!(hosts, ["own.internal", "cluster.internal", "quay.io"]);
}
