//! Conversion between the versions, by what a user may rely on.

mod annotations;
mod changes;
mod fields;
mod hostile;
mod laws;
mod migration_guide;
mod older_spellings;
mod reviews;
mod schemas;
mod support;

use llsd_api::conversion::{V1ALPHA1_EXTRAS, V1ALPHA2_EXTRAS, Version, down, up};
use serde_json::{Value, json};

#[allow(clippy::needless_pass_by_value, reason = "written as `v1alpha1(json!(…))`")]
fn v1alpha1(spec: Value) -> Value {
    object(Version::V1Alpha1, &spec)
}

#[allow(clippy::needless_pass_by_value, reason = "written as `v1alpha2(json!(…))`")]
fn v1alpha2(spec: Value) -> Value {
    object(Version::V1Alpha2, &spec)
}

fn object(version: Version, spec: &Value) -> Value {
    json!({
        "apiVersion": version.api_version(),
        "kind": "LlamaStackDistribution",
        "metadata": {"name": "server", "namespace": "team-a"},
        "spec": spec,
    })
}

/// With an annotation.
fn noted(mut object: Value, name: &str, value: impl Into<Value>) -> Value {
    object["metadata"]["annotations"][name] = value.into();
    object
}

fn annotation<'v>(object: &'v Value, name: &str) -> Option<&'v str> {
    object["metadata"]["annotations"].get(name)?.as_str()
}

#[track_caller]
fn assert_carries_nothing(object: &Value) {
    assert_eq!(annotation(object, V1ALPHA1_EXTRAS), None);
    assert_eq!(annotation(object, V1ALPHA2_EXTRAS), None);
}

#[track_caller]
fn assert_comes_back(object: &Value) {
    match Version::from_object(object) {
        Some(Version::V1Alpha1) => assert_eq!(down(up(object.clone())), *object),
        _ => assert_eq!(up(down(object.clone())), *object),
    }
}
