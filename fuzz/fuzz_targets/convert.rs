//! Any bytes as a ConversionReview, and any JSON as an object in one: always an answer, as many
//! objects as there were, and there and back again nothing is lost.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llsd_api::conversion::{Version, review};
use serde_json::{Value, json};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(answer) = review::answer(bytes) {
        let asked: Value = parsed(bytes).unwrap_or_default();
        let answered: Value = parsed(&answer).unwrap_or_default();
        if let Some(objects) = asked["request"]["objects"].as_array()
            && answered["response"]["result"]["status"] == "Success"
        {
            let converted = answered["response"]["convertedObjects"].as_array().unwrap();
            assert_eq!(converted.len(), objects.len());
        }
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for to in Version::ALL {
        // Whatever is JSON at all, also what is too deep or too large for a `Value`.
        let _ = review::answer(wrapped(text, to).as_bytes());
    }
    let Some(Value::Object(mut object)) = parsed(bytes) else { return };
    object.insert("kind".to_owned(), json!(llsd_api::KIND));
    let back_and_forth = object.get("metadata").is_some_and(Value::is_object);
    for (from, to) in [(Version::V1Alpha1, Version::V1Alpha2), (Version::V1Alpha2, Version::V1Alpha1)] {
        object.insert("apiVersion".to_owned(), json!(from.api_version()));
        let original = Value::Object(object.clone());
        let there = converted(&original, to);
        assert_eq!(there["apiVersion"], to.api_version());
        if back_and_forth {
            assert_eq!(converted(&there, from), original);
        }
    }
});

fn parsed(bytes: &[u8]) -> Option<Value> {
    serde_json::from_slice(bytes).ok()
}

fn wrapped(object: &str, to: Version) -> String {
    let to = to.api_version();
    format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{{"uid":"u","desiredAPIVersion":"{to}","objects":[{object}]}}}}"#
    )
}

fn converted(object: &Value, to: Version) -> Value {
    let answer = review::answer(wrapped(&object.to_string(), to).as_bytes()).expect("a review");
    let mut answer: Value = parsed(&answer).expect("JSON");
    let objects = answer["response"]["convertedObjects"].as_array_mut().expect("objects");
    assert_eq!(objects.len(), 1);
    objects.remove(0)
}
