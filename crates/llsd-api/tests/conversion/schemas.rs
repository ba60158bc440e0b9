//! Conversion and its tests know every field and every default that the schemas have. A field that
//! is added to a schema fails here until somebody has decided where it goes.

use std::collections::BTreeMap;

use llsd_api::conversion::{V1ALPHA1_EXTRAS, Version, up};
use llsd_api::crd;
use serde_json::{Value, json};

use crate::support::api_server::with_defaults;
use crate::support::shapes::{
    HOLDERS, Shape, V1ALPHA1_SPEC, V1ALPHA1_STATUS, V1ALPHA2_SPEC, V1ALPHA2_STATUS,
};
use crate::{annotation, v1alpha1};

fn schema(version: Version) -> Value {
    let manifest = crd::manifest();
    let versions = manifest["spec"]["versions"].as_array().unwrap();
    let served = versions.iter().find(|served| {
        version.api_version() == format!("llamastack.io/{}", served["name"].as_str().unwrap())
    });
    served.unwrap()["schema"]["openAPIV3Schema"].clone()
}

#[test]
fn generated_objects_have_every_field_of_the_schemas() {
    for (version, section, shape) in [
        (Version::V1Alpha1, "spec", &V1ALPHA1_SPEC),
        (Version::V1Alpha1, "status", &V1ALPHA1_STATUS),
        (Version::V1Alpha2, "spec", &V1ALPHA2_SPEC),
        (Version::V1Alpha2, "status", &V1ALPHA2_STATUS),
    ] {
        let schema = schema(version);
        compare(&format!("{version:?}/{section}"), &schema["properties"][section], shape);
    }
}

fn compare(path: &str, schema: &Value, shape: &Shape) {
    let Shape::Fields(fields) = shape else { return };
    let mut known: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let mut declared: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    known.sort_unstable();
    declared.sort_unstable();
    // A few fields of `storage` stand for all: it is carried as one value.
    if !path.contains("V1Alpha2/spec/storage") {
        assert_eq!(known, declared, "{path}");
    }
    for (name, shape) in *fields {
        compare(&format!("{path}/{name}"), &schema["properties"][name], shape);
    }
}

#[test]
fn the_schemas_have_the_defaults_that_conversion_fills_in() {
    let expected = [
        (Version::V1Alpha1, "/spec/network/exposeRoute", json!(false)),
        (Version::V1Alpha1, "/spec/replicas", json!(1)),
        (Version::V1Alpha1, "/spec/server/containerSpec/name", json!("llama-stack")),
        (Version::V1Alpha2, "/spec/networking/port", json!(8321)),
        (Version::V1Alpha2, "/spec/storage/kv/type", json!("sqlite")),
        (Version::V1Alpha2, "/spec/storage/sql/type", json!("sqlite")),
        (Version::V1Alpha2, "/spec/workload/storage/deletionPolicy", json!("Retain")),
    ];
    for version in Version::ALL {
        let mut found = BTreeMap::new();
        collect_defaults("", &schema(version), &mut found);
        let expected = expected.iter().filter(|(of, ..)| *of == version);
        let expected = expected.map(|(_, path, value)| ((*path).to_owned(), value.clone()));
        assert_eq!(found, expected.collect());
    }
}

fn collect_defaults(path: &str, schema: &Value, into: &mut BTreeMap<String, Value>) {
    if let Some(default) = schema.get("default") {
        into.insert(path.to_owned(), default.clone());
    }
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        collect_defaults(&format!("{path}/{name}"), schema, into);
    }
    for below in ["items", "additionalProperties"] {
        if let Some(schema) = schema.get(below) {
            collect_defaults(&format!("{path}/{below}"), schema, into);
        }
    }
}

#[test]
fn every_v1alpha1_field_but_two_has_a_place_in_v1alpha2() {
    let mut homeless = Vec::new();
    let mut paths = vec!["/spec/server/userConfig/configMapNamespace".to_owned()];
    collect_fields("", &schema(Version::V1Alpha1), &mut paths);
    for path in paths {
        let mut object = v1alpha1(json!({"server": {}}));
        let place = path.split('/').skip(1).fold(&mut object, |place, key| &mut place[key]);
        *place = match path.as_str() {
            "/spec/network/exposeRoute" => json!(true),
            _ => json!({}),
        };
        let new = up(with_defaults(object, Version::V1Alpha1));
        let extras = annotation(&new, V1ALPHA1_EXTRAS).unwrap_or("[]");
        let extras: Vec<Value> = serde_json::from_str(extras).unwrap();
        if extras.iter().any(|entry| entry.get("is").is_some()) {
            homeless.push(path);
        }
    }
    homeless.sort();
    assert_eq!(
        homeless,
        ["/spec/server/containerSpec/name", "/spec/server/userConfig/configMapNamespace"]
    );
}

fn collect_fields(path: &str, schema: &Value, into: &mut Vec<String>) {
    if path.is_empty() || HOLDERS[0].contains(&path) {
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            if !path.is_empty() || ["spec", "status"].contains(&name.as_str()) {
                collect_fields(&format!("{path}/{name}"), schema, into);
            }
        }
    } else {
        into.push(path.to_owned());
    }
}
