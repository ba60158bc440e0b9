//! The normal form by itself. What a real API server does to objects is proven in the tests of
//! `llsd`.

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Map, Value, json};

use super::*;

/// A live object of which we own these fields.
fn live(mut object: Value, fields: &Value) -> Value {
    object["metadata"]["managedFields"] = json!([
        {"manager": "kubectl", "operation": "Apply", "fieldsV1": {"f:spec": {"f:other": {}}}},
        {"manager": FIELD_MANAGER, "operation": "Update", "fieldsV1": {"f:spec": {"f:other": {}}}},
        {"manager": FIELD_MANAGER, "operation": "Apply", "subresource": "scale", "fieldsV1": {}},
        {"manager": FIELD_MANAGER, "operation": "Apply", "fieldsV1": fields},
    ]);
    object
}

#[rstest]
#[case::no_managers(json!({"metadata": {"name": "a"}}))]
#[case::others(json!({"metadata": {"managedFields": [
    {"manager": "kubectl", "operation": "Apply", "fieldsV1": {}},
    {"manager": FIELD_MANAGER, "operation": "Update", "fieldsV1": {}},
    {"manager": FIELD_MANAGER, "operation": "Apply", "subresource": "status", "fieldsV1": {}},
]}}))]
#[case::nonsense(json!({"metadata": {"managedFields": {"manager": FIELD_MANAGER}}}))]
#[case::nothing(Value::Null)]
fn an_object_that_we_never_applied_to_has_no_fingerprint(#[case] object: Value) {
    assert_eq!(of_live(&object), None);
}

#[rstest]
#[case::identity(
    json!({"kind": "X", "apiVersion": "v1", "metadata": {"name": "a", "namespace": "b"}}),
    json!({"metadata": {"name": "other", "uid": "1"}, "status": {"ready": true}}),
    json!({})
)]
#[case::fields_of_others(
    json!({"spec": {"a": "x"}}),
    json!({"spec": {"a": "x", "b": "y"}}),
    json!({"f:spec": {"f:a": {}}})
)]
#[case::items_of_others_and_fields_of_items(
    json!({"spec": {"env": [{"name": "B", "value": "b"}, {"name": "A"}]}}),
    json!({"spec": {"env": [
        {"name": "X"}, {"name": "B", "value": "b"}, {"name": "Y"}, {"name": "A", "value": "theirs"},
    ]}}),
    json!({"f:spec": {"f:env": {
        "k:{\"name\":\"A\"}": {".": {}, "f:name": {}},
        "k:{\"name\":\"B\"}": {".": {}, "f:name": {}, "f:value": {}},
    }}})
)]
#[case::a_key_that_the_server_set(
    json!({"spec": {"ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]}}),
    json!({"spec": {"ports": [
        {"containerPort": 80, "protocol": "TCP"}, {"containerPort": 80, "protocol": "UDP"},
    ]}}),
    json!({"f:spec": {"f:ports": {
        "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}},
        "k:{\"containerPort\":80,\"protocol\":\"UDP\"}":
            {".": {}, "f:containerPort": {}, "f:protocol": {}},
    }}})
)]
#[case::whole_items(
    json!({"metadata": {"ownerReferences": [{"uid": "u", "name": "n", "controller": true}]}}),
    json!({"metadata": {"ownerReferences": [
        {"uid": "other"}, {"uid": "u", "name": "n", "controller": true},
    ]}}),
    json!({"f:metadata": {"f:ownerReferences": {"k:{\"uid\":\"u\"}": {}}}})
)]
#[case::sets(
    json!({"metadata": {"finalizers": ["ours"]}}),
    json!({"metadata": {"finalizers": ["theirs", "ours"]}}),
    json!({"f:metadata": {"f:finalizers": {"v:\"ours\"": {}}}})
)]
#[case::values_that_are_not_stored(
    json!({"spec": {"text": "", "number": 0, "flag": false, "args": [], "emptyDir": {}}}),
    json!({"spec": {"emptyDir": {}}}),
    json!({"f:spec": {"f:text": {}, "f:number": {}, "f:flag": {}, "f:args": {}, "f:emptyDir": {}}})
)]
#[case::a_map_of_ours_with_nothing_of_ours_in_it(
    json!({"spec": {"emptyDir": {}}}),
    json!({"spec": {"emptyDir": {"medium": "Memory"}}}),
    json!({"f:spec": {"f:emptyDir": {}}})
)]
#[case::merged_lists_without_items(
    json!({"spec": {"env": [], "resources": {"claims": []}}}),
    json!({}),
    json!({})
)]
#[case::quantities(
    json!({"spec": {"requests": {"cpu": "1000m", "memory": 1024}, "emptyDir": {"sizeLimit": 0}}}),
    json!({"spec": {"requests": {"cpu": "1", "memory": "1Ki"}, "emptyDir": {"sizeLimit": "0"}}}),
    json!({"f:spec": {
        "f:requests": {"f:cpu": {}, "f:memory": {}}, "f:emptyDir": {"f:sizeLimit": {}},
    }})
)]
#[case::defaults_inside_of_atomic_maps(
    json!({"spec": {"fieldRef": {"fieldPath": "x"}, "resourceFieldRef": {"resource": "y"}}}),
    json!({"spec": {
        "fieldRef": {"apiVersion": "v1", "fieldPath": "x"},
        "resourceFieldRef": {"divisor": "0", "resource": "y"},
    }}),
    json!({"f:spec": {"f:fieldRef": {}, "f:resourceFieldRef": {}}})
)]
#[case::empty_values_inside_of_atomic_lists(
    json!({"spec": {"tolerations": [{"key": "", "operator": "Exists"}]}}),
    json!({"spec": {"tolerations": [{"operator": "Exists"}]}}),
    json!({"f:spec": {"f:tolerations": {}}})
)]
fn what_is_live_of_ours_is_what_we_applied(
    #[case] desired: Value,
    #[case] object: Value,
    #[case] fields: Value,
) {
    assert_eq!(of_live(&live(object, &fields)), Some(of_desired(&desired)));
}

#[rstest]
#[case::a_value(json!({"spec": {"a": "x"}}), json!({"spec": {"a": "y"}}))]
#[case::a_field_more(json!({"spec": {"a": "x"}}), json!({"spec": {"a": "x", "b": "x"}}))]
#[case::number_and_text(json!({"spec": {"a": "1"}}), json!({"spec": {"a": 1}}))]
#[case::empty_and_absent(json!({"spec": {"a": "", "b": 1}}), json!({"spec": {"b": 1}}))]
#[case::the_order_of_items(
    json!({"spec": {"env": [{"name": "A"}, {"name": "B"}]}}),
    json!({"spec": {"env": [{"name": "B"}, {"name": "A"}]}})
)]
#[case::a_text_of_two_or_two_texts(
    json!({"spec": {"args": ["ab"]}}),
    json!({"spec": {"args": ["a", "b"]}})
)]
#[case::everything_or_nothing_selected(
    json!({"spec": {"ingress": [{"from": [{"podSelector": {}}]}]}}),
    json!({"spec": {"ingress": [{"from": [{"namespaceSelector": {}}]}]}})
)]
#[case::an_empty_value_of_a_label(
    json!({"spec": {"selector": {"matchLabels": {"a": ""}}}}),
    json!({"spec": {"selector": {"matchLabels": {}}}})
)]
#[case::zero_seconds_or_for_ever(
    json!({"spec": {"tolerations": [{"key": "a", "tolerationSeconds": 0}]}}),
    json!({"spec": {"tolerations": [{"key": "a"}]}})
)]
#[case::quantities(
    json!({"spec": {"requests": {"cpu": "1"}}}),
    json!({"spec": {"requests": {"cpu": "1001m"}}})
)]
#[case::texts_that_only_look_like_quantities(
    json!({"data": {"cpu": "1"}}),
    json!({"data": {"cpu": "1000m"}})
)]
fn different_objects_differ(#[case] one: Value, #[case] other: Value) {
    assert_ne!(of_desired(&one), of_desired(&other));
}

#[test]
fn a_field_that_another_took_is_missed_though_its_value_is_the_same() {
    let desired = json!({"spec": {"a": "", "b": "x"}});
    let taken = live(desired.clone(), &json!({"f:spec": {"f:b": {}}}));
    assert_ne!(of_live(&taken), Some(of_desired(&desired)));
}

#[test]
fn a_fingerprint_is_shown_in_hexadecimal() {
    let shown = format!("{:?}", of_desired(&json!({"spec": {"a": "x"}})));
    assert!(shown.len() == 32 && shown.bytes().all(|byte| byte.is_ascii_hexdigit()), "{shown}");
}

fn any_value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
    ];
    let name = prop::sample::select(vec!["a", "b", "env", "selector", "requests", "name", "spec"]);
    scalar.prop_recursive(5, 40, 5, move |inner| {
        let fields =
            prop::collection::hash_map(name.clone().prop_map(String::from), inner.clone(), 0..5);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::Array),
            fields.prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().rev().map(|(name, value)| (name.clone(), reversed(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(reversed).collect(),
        scalar => scalar.clone(),
    }
}

proptest! {
    #[test]
    fn the_order_of_keys_does_not_matter(value in any_value()) {
        prop_assert_eq!(of_desired(&value), of_desired(&reversed(&value)));
    }
}
