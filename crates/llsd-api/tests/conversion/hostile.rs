//! Shapes that no API server would hold. There is an answer to each, and no panic.

use llsd_api::conversion::{V1ALPHA1_EXTRAS, V1ALPHA2_EXTRAS, Version, convert, down, up};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{assert_comes_back, noted, v1alpha1, v1alpha2};

#[rstest]
#[case(json!(null))]
#[case(json!([1]))]
#[case(json!("text"))]
#[case(json!({}))]
#[case(json!({"kind": "LlamaStackDistribution"}))]
#[case(json!({"kind": "Pod", "apiVersion": "v1"}))]
#[case(json!({"kind": "Other", "apiVersion": "llamastack.io/v1alpha1"}))]
#[case(json!({"kind": "LlamaStackDistribution", "apiVersion": "llamastack.io/v1"}))]
#[case(json!({"kind": 1, "apiVersion": 2}))]
fn what_is_not_ours_comes_back_unchanged(#[case] object: Value) {
    for version in Version::ALL {
        assert_eq!(convert(object.clone(), version), object);
    }
}

#[test]
fn what_is_no_object_has_no_version() {
    assert_eq!(up(json!([1])), json!([1]));
    assert_eq!(down(json!("text")), json!("text"));
}

#[test]
fn a_bare_object_gets_version_and_kind() {
    assert_eq!(
        up(json!({})),
        json!({"apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution"})
    );
}

#[test]
fn any_shape_of_a_section_comes_back() {
    for shape in [json!(null), json!(false), json!(7), json!("text"), json!([{"a": 1}]), json!({})]
    {
        for mut object in [v1alpha1(json!({})), v1alpha2(json!({}))] {
            object["spec"] = shape.clone();
            assert_comes_back(&object);
            object["status"] = shape.clone();
            assert_comes_back(&object);
        }
    }
}

#[test]
fn any_shape_of_a_field_comes_back() {
    let v1alpha1_fields = [
        "replicas",
        "server",
        "network",
        "server/distribution",
        "server/containerSpec",
        "server/containerSpec/port",
        "server/podOverrides",
        "server/storage",
        "server/autoscaling",
        "server/userConfig",
        "server/tlsConfig",
        "server/tlsConfig/caBundle",
        "network/exposeRoute",
    ];
    let v1alpha2_fields = [
        "workload",
        "workload/overrides",
        "workload/storage",
        "workload/storage/size",
        "workload/autoscaling",
        "networking",
        "networking/port",
        "networking/expose",
        "networking/tls",
        "networking/tls/caBundle",
        "overrideConfig",
        "providers",
        "storage",
    ];
    for shape in [
        json!(null),
        json!(false),
        json!(7),
        json!("text"),
        json!([{"a": 1}]),
        json!({}),
        json!({"x": {}}),
    ] {
        for (fields, object) in [
            (v1alpha1_fields, v1alpha1(json!({}))),
            (v1alpha2_fields, v1alpha2(json!({"disabled": []}))),
        ] {
            for field in fields {
                let mut object = object.clone();
                let place =
                    field.split('/').fold(&mut object["spec"], |place, key| &mut place[key]);
                *place = shape.clone();
                assert_comes_back(&object);
            }
        }
    }
}

#[test]
fn without_metadata_there_is_an_answer() {
    for metadata in [json!(null), json!([]), json!("text")] {
        let mut object =
            v1alpha1(json!({"server": {"containerSpec": {"name": "mine", "port": 1}}}));
        object["metadata"] = metadata.clone();
        let new = up(object);
        assert_eq!(new["metadata"], metadata);
        assert_eq!(new["spec"]["networking"]["port"], 1);
    }
    let mut object = v1alpha1(json!({"server": {"containerSpec": {"name": "mine", "port": 1}}}));
    object.as_object_mut().unwrap().remove("metadata");
    assert_eq!(up(object).get("metadata"), None);
}

#[test]
fn numbers_keep_every_digit() {
    let odd = 3.578_188_667_326_329e146;
    let object =
        v1alpha2(json!({"providers": {"temperature": odd, "big": u64::MAX, "small": i64::MIN}}));
    assert_comes_back(&object);
}

#[test]
fn entries_that_were_never_carried_do_no_harm() {
    let entries = json!([
        {"path": "/spec/workload/storage", "was": {}},
        {"path": "/spec/workload/storage/size", "was": "1Gi"},
        {"path": "/spec/workload/storage/deletionPolicy", "was": "Retain"},
        {"path": "/spec/workload/storage"},
        {"path": "/spec/workload/storage", "was": {}},
        {"path": "/spec/networking/tls", "is": "text"},
        {"path": "/spec/networking/tls/enabled", "is": true},
        {"path": "/spec/networking/tls/secretName"},
    ]);
    let storage = json!({"replicas": 1, "server": {"storage": {"size": "1Gi"}}});
    let object = noted(v1alpha1(storage.clone()), V1ALPHA2_EXTRAS, entries.to_string());
    let new = up(object);
    assert_eq!(new["spec"], json!({"workload": {"replicas": 1}, "networking": {"tls": "text"}}));
    assert_eq!(down(new)["spec"], storage);
}

#[test]
fn an_annotation_of_many_slashes_is_not_followed() {
    let path = format!("/spec{}", "/a".repeat(100_000));
    let value = json!([{"path": path, "is": 1}]).to_string();
    assert_comes_back(&noted(v1alpha2(json!({})), V1ALPHA1_EXTRAS, value));
}
