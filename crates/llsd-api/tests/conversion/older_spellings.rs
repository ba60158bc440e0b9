//! What operators before the first release of v1alpha2 wrote into annotations is read: into the
//! field that v1alpha2 has now, else into today's form.

use llsd_api::conversion::{V1ALPHA1_EXTRAS, V1ALPHA2_EXTRAS, carried_container_name, down, up};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{annotation, assert_carries_nothing, assert_comes_back, noted, v1alpha1, v1alpha2};

const CONTAINER_NAME: &str = "llamastack.io/v1alpha1-container-name";
const GRACE_PERIOD: &str = "llamastack.io/v1alpha1-termination-grace-period";
const USER_CONFIG_NAMESPACE: &str = "llamastack.io/v1alpha1-user-config-namespace";
const CA_BUNDLE_NAMESPACE: &str = "llamastack.io/v1alpha1-ca-bundle-namespace";
const CA_BUNDLE_KEYS: &str = "llamastack.io/v1alpha1-ca-bundle-keys";

fn stored() -> Value {
    v1alpha2(json!({
        "overrideConfig": {"configMapName": "config"},
        "networking": {"port": 8321, "tls": {"caBundle": {"configMapName": "ca"}}},
        "workload": {"replicas": 1},
    }))
}

fn one_annotation_each() -> Value {
    [
        (CONTAINER_NAME, "mine"),
        (GRACE_PERIOD, "45"),
        (USER_CONFIG_NAMESPACE, "team-b"),
        (CA_BUNDLE_NAMESPACE, "team-c"),
        (CA_BUNDLE_KEYS, r#"["a.crt","b.crt"]"#),
    ]
    .into_iter()
    .fold(stored(), |object, (name, value)| noted(object, name, value))
}

fn flat() -> Value {
    let value = json!({
        "containerName": "mine", "terminationGracePeriod": 45, "userConfigNamespace": "team-b",
        "caBundleNamespace": "team-c", "caBundleKeys": ["a.crt", "b.crt"],
    });
    noted(stored(), V1ALPHA1_EXTRAS, value.to_string())
}

#[rstest]
#[case(one_annotation_each())]
#[case(flat())]
fn v1alpha1_fields_return_from_both_spellings(#[case] object: Value) {
    assert_eq!(carried_container_name(&object).as_deref(), Some("mine"));
    let old = down(object);
    assert_eq!(
        old["spec"],
        json!({
            "replicas": 1,
            "server": {
                "containerSpec": {"name": "mine", "port": 8321},
                "podOverrides": {"terminationGracePeriodSeconds": 45},
                "userConfig": {"configMapName": "config", "configMapNamespace": "team-b"},
                "tlsConfig": {"caBundle": {
                    "configMapName": "ca", "configMapNamespace": "team-c", "configMapKeys": ["a.crt", "b.crt"],
                }},
            },
        })
    );
    assert_eq!(old["metadata"].get("annotations"), None);

    let new = up(old);
    assert_eq!(new["spec"]["workload"]["overrides"]["terminationGracePeriodSeconds"], 45);
    assert_eq!(new["spec"]["networking"]["tls"]["caBundle"]["configMapNamespace"], "team-c");
    assert_eq!(carried_container_name(&new).as_deref(), Some("mine"));
    assert_comes_back(&new);
}

#[test]
fn what_a_field_says_already_wins() {
    let mut object = flat();
    object["spec"]["workload"]["overrides"] = json!({"terminationGracePeriodSeconds": 5});
    object["spec"]["networking"]["tls"]["caBundle"]["configMapNamespace"] = json!("team-d");
    let server = down(object)["spec"]["server"].take();
    assert_eq!(server["podOverrides"]["terminationGracePeriodSeconds"], 5);
    assert_eq!(server["tlsConfig"]["caBundle"]["configMapNamespace"], "team-d");
}

#[test]
fn what_has_lost_its_field_is_dropped() {
    let mut object = flat();
    object["spec"] = json!({"workload": {"replicas": 1}});
    assert_eq!(
        down(object)["spec"]["server"],
        json!({
            "containerSpec": {"name": "mine"},
            "podOverrides": {"terminationGracePeriodSeconds": 45},
        })
    );

    let mut object = flat();
    object["spec"] =
        json!({"overrideConfig": {}, "workload": 1, "networking": {"tls": {"caBundle": 1}}});
    let server = down(object)["spec"]["server"].take();
    assert_eq!(server.get("podOverrides"), None);
    assert_eq!(server["tlsConfig"]["caBundle"], 1);
    assert_eq!(server["userConfig"], json!({}));
}

#[test]
fn the_usual_container_name_needs_no_carrying() {
    let object =
        noted(v1alpha2(json!({"workload": {"replicas": 1}})), CONTAINER_NAME, "llama-stack");
    let old = down(object);
    assert_eq!(old["spec"], json!({"replicas": 1, "server": {}}));
    assert_carries_nothing(&old);
}

#[rstest]
#[case(CONTAINER_NAME, "")]
#[case(GRACE_PERIOD, "soon")]
#[case(CA_BUNDLE_KEYS, "a.crt")]
#[case(CA_BUNDLE_KEYS, "[1]")]
fn what_cannot_be_read_is_left_alone(#[case] name: &str, #[case] value: &str) {
    let object = noted(stored(), name, value);
    assert_eq!(annotation(&down(object.clone()), name), Some(value));
    assert_comes_back(&object);
}

#[rstest]
#[case(r#"{"containerName":5}"#)]
#[case(r#"{"containerName":"mine","note":"x"}"#)]
#[case(r#"{"caBundleKeys":[1]}"#)]
#[case(r#"{"caBundleKeys":"[1]"}"#)]
#[case(r#"{"providers":[]}"#)]
#[case(r#"{"exposeHostname":true}"#)]
fn flat_json_of_another_shape_is_somebody_elses(#[case] value: &str) {
    assert_comes_back(&noted(stored(), V1ALPHA1_EXTRAS, value));
    assert_comes_back(&noted(
        v1alpha1(json!({"replicas": 1, "server": {}})),
        V1ALPHA2_EXTRAS,
        value,
    ));
}

#[test]
fn on_a_v1alpha1_object_they_are_annotations_like_others() {
    let object = v1alpha1(json!({"replicas": 1, "server": {}}));
    let object = noted(object, CONTAINER_NAME, "mine");
    assert_comes_back(&object);
    assert_eq!(carried_container_name(&up(object.clone())), None);
    assert_comes_back(&noted(object, V1ALPHA1_EXTRAS, "nonsense"));
}

#[test]
fn without_a_spec_they_wait() {
    for object in [one_annotation_each(), flat()] {
        let mut object = object;
        object["spec"] = json!(null);
        assert_comes_back(&object);
    }
    let mut object = v1alpha1(json!(null));
    object = noted(object, V1ALPHA2_EXTRAS, r#"{"disabled":[]}"#);
    assert_comes_back(&object);
}

fn flat_v1alpha2(spec: Value) -> Value {
    let value = json!({
        "providers": {"inference": {"provider": "vllm"}}, "resources": {"models": ["m"]},
        "storage": {"kv": {"type": "sqlite"}}, "disabled": ["safety"], "externalProviders": {},
        "exposeHostname": "h.example.com",
    });
    noted(v1alpha1(spec), V1ALPHA2_EXTRAS, value.to_string())
}

#[test]
fn v1alpha2_sections_return_from_flat_json() {
    let new =
        up(flat_v1alpha2(json!({"replicas": 1, "server": {}, "network": {"exposeRoute": true}})));
    assert_eq!(
        new["spec"],
        json!({
            "providers": {"inference": {"provider": "vllm"}}, "resources": {"models": ["m"]},
            "storage": {"kv": {"type": "sqlite"}}, "disabled": ["safety"], "externalProviders": {},
            "networking": {"port": 8321, "expose": {"enabled": true, "hostname": "h.example.com"}},
            "workload": {"replicas": 1},
        })
    );
    assert_comes_back(&new);
}

#[test]
fn an_older_hostname_does_not_switch_exposure_on() {
    for network in [json!(null), json!({"exposeRoute": false})] {
        let new = up(flat_v1alpha2(json!({"replicas": 1, "server": {}, "network": network})));
        assert_ne!(new["spec"]["networking"]["expose"], true);
        assert!(!new["spec"]["networking"]["expose"].is_object());
    }
}

#[test]
fn older_sections_do_not_stand_beside_an_override() {
    let new =
        up(flat_v1alpha2(json!({"replicas": 1, "server": {"userConfig": {"configMapName": "c"}}})));
    assert_eq!(
        new["spec"],
        json!({
            "overrideConfig": {"configMapName": "c"},
            "externalProviders": {},
            "workload": {"replicas": 1},
        })
    );
    assert_comes_back(&new);
}
