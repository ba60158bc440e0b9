//! Whole reviews, as the API server sends them and as it never would.

use llsd_api::conversion::review;
use llsd_api::conversion::{V1ALPHA2_EXTRAS, Version, down};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{v1alpha1, v1alpha2};

fn asked(objects: &str, to: &str) -> String {
    format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{{"uid":"\"odd\" uid","desiredAPIVersion":"{to}","objects":{objects}}}}}"#
    )
}

fn answered(objects: &str, to: &str) -> String {
    String::from_utf8(review::answer(asked(objects, to).as_bytes()).unwrap()).unwrap()
}

fn response(objects: &Value, to: Version) -> Value {
    let answer = answered(&objects.to_string(), to.api_version());
    let mut answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["kind"], "ConversionReview");
    assert_eq!(answer["apiVersion"], "apiextensions.k8s.io/v1");
    answer["response"].take()
}

#[test]
fn every_object_is_answered_in_its_place_and_under_the_uid_of_the_request() {
    let starter = v1alpha2(json!({"distribution": {"name": "starter"}}));
    let other = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "foreign"}});
    let old = v1alpha1(json!({"replicas": 2}));
    let objects = json!([starter, other, null, 7, [], old, {"kind": 3}]);
    let response = response(&objects, Version::V1Alpha1);
    assert_eq!(response["uid"], "\"odd\" uid");
    assert_eq!(response["result"]["status"], "Success");
    let expected = json!([down(starter), other, null, 7, [], old, {"kind": 3}]);
    assert_eq!(response["convertedObjects"], expected);
}

#[rstest]
#[case("[]")]
#[case("null")]
fn a_review_without_objects_has_an_answer_without_objects(#[case] objects: &str) {
    let answer = answered(objects, "llamastack.io/v1alpha2");
    assert!(answer.ends_with(r#""result":{"status":"Success"},"convertedObjects":[]}}"#));
}

#[test]
fn a_version_that_nobody_knows_is_refused_by_name() {
    let answer: Value = serde_json::from_str(&answered("[{}]", "llamastack.io/v2")).unwrap();
    let result = &answer["response"]["result"];
    assert_eq!(result["status"], "Failed");
    assert!(result["message"].as_str().unwrap().ends_with("not to llamastack.io/v2"));
    assert_eq!(answer["response"].get("convertedObjects"), None);
}

#[rstest]
#[case("")]
#[case("null")]
#[case("[]")]
#[case("{}")]
#[case(r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"}"#)]
#[case(r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","desiredAPIVersion":""}}"#)]
#[case(r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":1}}"#)]
fn what_is_no_review_has_no_answer(#[case] body: &str) {
    let refused = review::answer(body.as_bytes()).unwrap_err().to_string();
    assert!(refused.starts_with("the body is "), "{refused}");
}

/// Nested as deep as the API server holds it, in a place that is carried in an annotation.
fn deep(depth: usize) -> String {
    let settings = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    v1alpha2(json!({"providers": {"inference": {"provider": "vllm", "settings": "HERE"}}}))
        .to_string()
        .replace("\"HERE\"", &settings)
}

fn only_object(answer: &str) -> &str {
    let (_, object) = answer.split_once("\"convertedObjects\":[").unwrap();
    object.strip_suffix("]}}").unwrap()
}

#[rstest]
#[case(90)]
#[case(124)]
#[case(125)]
#[case(126)]
#[case(130)]
#[case(9_990)]
fn however_deep_an_object_is_it_comes_back(#[case] depth: usize) {
    let object = deep(depth);
    let there = answered(&format!("[{object}]"), "llamastack.io/v1alpha1");
    let there = only_object(&there);
    assert!(there.contains(V1ALPHA2_EXTRAS));
    let back = answered(&format!("[{there}]"), "llamastack.io/v1alpha2");
    assert_eq!(only_object(&back), object);
}

#[test]
fn what_is_too_deep_for_everybody_is_answered_as_it_is() {
    let object = deep(20_000);
    let answer = answered(&format!("[{object}]"), "llamastack.io/v1alpha1");
    assert_eq!(only_object(&answer), object);
    // In an annotation it is text like any other.
    let mut noted = v1alpha1(json!({}));
    noted["metadata"]["annotations"][V1ALPHA2_EXTRAS] = json!("[".repeat(200_000));
    let response = response(&json!([noted]), Version::V1Alpha2);
    let annotations = &response["convertedObjects"][0]["metadata"]["annotations"];
    assert_eq!(annotations[V1ALPHA2_EXTRAS], noted["metadata"]["annotations"][V1ALPHA2_EXTRAS]);
}

#[test]
fn what_holds_too_many_values_is_answered_without_being_read() {
    let settings = format!("[{}0]", "0,".repeat(200_000));
    let object =
        v1alpha2(json!({"providers": {"inference": {"provider": "vllm", "settings": "HERE"}}}))
            .to_string()
            .replace("\"HERE\"", &settings);
    let answer = answered(&format!("[{object}]"), "llamastack.io/v1alpha1");
    let answer: Value = serde_json::from_str(only_object(&answer)).unwrap();
    let mut expected: Value = serde_json::from_str(&object).unwrap();
    expected["apiVersion"] = json!("llamastack.io/v1alpha1");
    assert!(answer == expected, "its version alone is another");
    // In an annotation it is text like any other.
    let mut noted = v1alpha1(json!({}));
    noted["metadata"]["annotations"][V1ALPHA2_EXTRAS] = json!(settings);
    let response = response(&json!([noted]), Version::V1Alpha2);
    let annotations = &response["convertedObjects"][0]["metadata"]["annotations"];
    assert!(annotations[V1ALPHA2_EXTRAS] == noted["metadata"]["annotations"][V1ALPHA2_EXTRAS]);
}
