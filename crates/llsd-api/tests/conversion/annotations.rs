//! The annotations: gone when there is nothing to carry, and all others as they were.

use llsd_api::conversion::{V1ALPHA1_EXTRAS, V1ALPHA2_EXTRAS, down, up};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{annotation, assert_carries_nothing, assert_comes_back, noted, v1alpha1, v1alpha2};

/// Has something to carry.
fn with_container_name() -> Value {
    v1alpha1(json!({"replicas": 1, "server": {"containerSpec": {"name": "mine"}}}))
}

/// Has nothing to carry.
fn plain() -> Value {
    v1alpha1(json!({"replicas": 1, "server": {}}))
}

#[rstest]
#[case::empty(json!({}))]
#[case::others(json!({"a": "b"}))]
#[case::null(json!(null))]
#[case::list(json!([]))]
#[case::text(json!("text"))]
fn the_annotations_come_back_as_they_were(#[case] annotations: Value) {
    for mut object in [with_container_name(), plain(), v1alpha2(json!({"disabled": []}))] {
        assert_comes_back(&object);
        object["metadata"]["annotations"] = annotations.clone();
        assert_comes_back(&object);
    }
}

#[test]
fn nothing_to_carry_leaves_no_trace() {
    let mut object = plain();
    assert_eq!(up(object.clone())["metadata"], object["metadata"]);
    object["metadata"]["annotations"] = json!({});
    assert_eq!(up(object.clone())["metadata"], object["metadata"]);

    let mut new = up(with_container_name());
    new["spec"] = json!({"workload": {"replicas": 1}});
    let mut old = down(new);
    old["spec"]["server"] = json!({});
    assert_carries_nothing(&up(old));
}

#[test]
fn other_metadata_is_never_touched() {
    let mut object = with_container_name();
    object["metadata"]["managedFields"] =
        json!([{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}]);
    object["metadata"]["labels"] = json!({"a": "b"});
    let mut converted = up(object.clone());
    converted["metadata"].as_object_mut().unwrap().remove("annotations");
    assert_eq!(converted["metadata"], object["metadata"]);
}

#[test]
fn an_annotation_added_through_the_other_version_stays() {
    let mut object = with_container_name();
    object["metadata"]["annotations"] = json!({});
    let old = down(noted(up(object), "a", "b"));
    assert_eq!(old["metadata"]["annotations"], json!({"a": "b"}));
}

#[test]
fn the_empty_map_is_remembered_while_something_waits() {
    let mut new = v1alpha2(json!({"workload": {"replicas": 1}, "disabled": []}));
    new["metadata"]["annotations"] = json!({});
    let mut old = down(new);
    old["spec"]["server"]["userConfig"] = json!({"configMapName": "c"});
    let waiting = up(old);
    assert_eq!(
        annotation(&waiting, V1ALPHA1_EXTRAS),
        Some(r#"[{"path":"/metadata/annotations","is":{}}]"#)
    );
    assert_comes_back(&waiting);
}

#[test]
fn entries_about_the_objects_own_version_are_no_news_to_it() {
    let entries = json!([
        {"path": "/spec/server/containerSpec/name", "is": "other"},
        {"path": "/metadata/annotations", "is": {}},
    ]);
    let new = up(noted(plain(), V1ALPHA1_EXTRAS, entries.to_string()));
    assert_eq!(new, up(plain()));
}

#[rstest]
#[case::text("nonsense")]
#[case::number("5")]
#[case::list_of_numbers("[1]")]
#[case::pathless(r#"[{"is":1}]"#)]
#[case::odd_path(r#"[{"path":1}]"#)]
#[case::object("{}")]
#[case::metadata(r#"[{"path":"/metadata/name","is":"other"}]"#)]
#[case::root(r#"[{"path":"/spec","is":{}}]"#)]
#[case::nowhere(r#"[{"path":"","is":{}}]"#)]
#[case::deep(r#"[{"path":"/spec/providers/inference","is":{}}]"#)]
fn what_somebody_else_wrote_under_our_names_stays(#[case] value: &str) {
    for name in [V1ALPHA1_EXTRAS, V1ALPHA2_EXTRAS] {
        for object in
            [with_container_name(), plain(), v1alpha2(json!({"disabled": []})), v1alpha2(json!({}))]
        {
            let object = noted(object, name, value);
            assert_comes_back(&object);
        }
    }
}

#[test]
fn values_that_are_no_text_stay_too() {
    for value in [json!(null), json!(5), json!({"a": []})] {
        assert_comes_back(&noted(with_container_name(), V1ALPHA1_EXTRAS, value.clone()));
        assert_comes_back(&noted(with_container_name(), V1ALPHA2_EXTRAS, value));
    }
}

#[test]
fn a_foreign_value_that_looks_like_ours_is_wrapped() {
    let object = noted(plain(), V1ALPHA2_EXTRAS, r#"[{"kept":"[]"}]"#);
    assert_comes_back(&object);
    // The predecessors' form, on the version that it does not concern.
    let object = noted(plain(), V1ALPHA1_EXTRAS, r#"{"containerName":"x"}"#);
    assert_comes_back(&object);
    let object = noted(v1alpha2(json!({})), V1ALPHA2_EXTRAS, r#"{"disabled":["x"]}"#);
    assert_comes_back(&object);
}

#[test]
fn no_annotation_reaches_beyond_spec_and_status() {
    for path in ["/metadata/name", "/apiVersion", "/kind", "/spec/a/b/c", "/status/phase/x"] {
        let value = json!([{"path": path, "is": "evil"}]).to_string();
        let object = noted(plain(), V1ALPHA2_EXTRAS, value);
        let new = up(object.clone());
        assert_eq!(new["metadata"], object["metadata"]);
        assert_eq!(new["spec"], json!({"workload": {"replicas": 1}}));
    }
}

#[test]
fn a_spec_that_is_gone_for_a_moment_keeps_what_it_carries() {
    let mut old = down(v1alpha2(json!({"disabled": ["safety"]})));
    old["spec"] = json!(null);
    let new = up(old.clone());
    assert_eq!(new["spec"], json!(null));
    assert_eq!(annotation(&new, V1ALPHA2_EXTRAS), annotation(&old, V1ALPHA2_EXTRAS));
    assert_eq!(down(new), old);
}

#[test]
fn names_with_slashes_and_tildes_come_back() {
    assert_comes_back(&v1alpha1(json!({
        "replicas": 1,
        "server": {},
        "a/b": 1, "~": 2, "~1": 3, "": 4, "server/containerSpec": {"name": "x"},
    })));
}
