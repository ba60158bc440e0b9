//! Objects: well-formed ones with every field there or not, and ones that no API server would
//! accept.

use llsd_api::conversion::{V1ALPHA1_EXTRAS, V1ALPHA2_EXTRAS, Version};
use serde_json::{Map, Value, json};

use super::random::Random;
use super::shapes::{Shape, V1ALPHA1_SPEC, V1ALPHA1_STATUS, V1ALPHA2_SPEC, V1ALPHA2_STATUS};

const WORDS: [&str; 12] = [
    "",
    "a",
    "llama-stack",
    "Retain",
    "Delete",
    "20Gi",
    "starter",
    "team-a",
    "b/c",
    "d~e",
    "0",
    "ünï\u{1F999}",
];

const UNKNOWN: [&str; 5] = ["unknown", "x/y", "~", "server/containerSpec", ""];

/// An object that the schema of its version accepts, but for odd values here and there.
pub(crate) fn well_formed(random: &mut Random, version: Version) -> Value {
    let (spec, status) = match version {
        Version::V1Alpha1 => (&V1ALPHA1_SPEC, &V1ALPHA1_STATUS),
        Version::V1Alpha2 => (&V1ALPHA2_SPEC, &V1ALPHA2_STATUS),
    };
    let mut object = json!({
        "apiVersion": version.api_version(),
        "kind": "LlamaStackDistribution",
        "metadata": metadata(random),
    });
    // Dense and sparse objects have different things to carry.
    let density = 1 + random.below(9);
    if !random.one_in(50) {
        object["spec"] = fill(random, spec, density);
    }
    if random.one_in(2) {
        object["status"] = fill(random, status, density);
    }
    object
}

fn metadata(random: &mut Random) -> Value {
    let mut metadata = json!({"name": "server", "namespace": "team-a", "generation": 3});
    match random.below(4) {
        0 => {}
        1 => metadata["annotations"] = json!({}),
        2 => metadata["annotations"] = json!({"example.com/owner": "us"}),
        _ => metadata["managedFields"] = json!([{"manager": "kubectl"}]),
    }
    metadata
}

fn fill(random: &mut Random, shape: &Shape, density: usize) -> Value {
    match shape {
        Shape::Flag => json!(random.one_in(2)),
        Shape::Count => json!([0, 1, 2, 8321, 443, -1][random.below(6)]),
        Shape::Text => json!(random.pick(&WORDS)),
        Shape::Whole => json_value(random, 3),
        Shape::Exposure => exposure(random),
        Shape::Fields(fields) => {
            let mut object = Map::new();
            for (key, shape) in *fields {
                if random.below(10) < density {
                    object.insert((*key).to_owned(), odd_or(random, shape, density));
                }
            }
            if random.one_in(20) {
                object.insert((*random.pick(&UNKNOWN)).to_owned(), json_value(random, 2));
            }
            Value::Object(object)
        }
    }
}

fn odd_or(random: &mut Random, shape: &Shape, density: usize) -> Value {
    match (random.below(24), shape) {
        (0, _) => Value::Null,
        (1, Shape::Fields(_) | Shape::Whole | Shape::Exposure) => json!({}),
        (2, Shape::Whole) => json!([]),
        _ => fill(random, shape, density),
    }
}

fn exposure(random: &mut Random) -> Value {
    match random.below(6) {
        0 => json!(true),
        1 => json!(false),
        2 => json!({}),
        3 => json!({"enabled": false, "hostname": "h.example.com"}),
        4 => json!({"enabled": true, "className": "nginx", "annotations": {"a": "b"}}),
        _ => json!({"hostname": "h.example.com", "gateway": {"name": "g"}}),
    }
}

/// Any JSON.
pub(crate) fn json_value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 7 } else { 10 }) {
        0 => Value::Null,
        1 => json!(random.one_in(2)),
        2 => json!([0, 1, -1, 8321][random.below(4)]),
        3 => json!(random.next().cast_signed()),
        4 => float(random),
        5 | 6 => json!(random.pick(&WORDS)),
        7 => (0..random.below(4)).map(|_| json_value(random, depth - 1)).collect(),
        _ => {
            let entries = (0..random.below(4)).map(|_| {
                let key = (*random.pick(&WORDS)).to_owned();
                (key, json_value(random, depth - 1))
            });
            Value::Object(entries.collect())
        }
    }
}

fn float(random: &mut Random) -> Value {
    let float = f64::from_bits(random.next());
    json!(if float.is_finite() { float } else { 0.1 })
}

/// Replaces, adds or removes values anywhere below the object's root, apart from what makes it
/// ours.
pub(crate) fn garble(random: &mut Random, object: &mut Value) {
    for _ in 0..=random.below(4) {
        let graft = json_value(random, 3);
        let mut place = &mut *object;
        for depth in 0.. {
            let Value::Object(fields) = place else { break };
            let keys: Vec<String> = fields
                .keys()
                .filter(|key| depth > 0 || !matches!(key.as_str(), "apiVersion" | "kind"))
                .cloned()
                .collect();
            if keys.is_empty() || random.one_in(6) {
                let key = if random.one_in(3) { "spec" } else { *random.pick(&UNKNOWN) };
                fields.insert(key.to_owned(), graft);
                break;
            }
            let key = random.pick(&keys);
            match random.below(8) {
                0 => {
                    fields.insert(key.clone(), graft);
                    break;
                }
                1 => {
                    fields.shift_remove(key);
                    break;
                }
                _ => place = &mut fields[key],
            }
        }
    }
}

/// Puts values under the names that conversion and its predecessors use: nonsense, and entries
/// that were never carried from anywhere.
pub(crate) fn scribble(random: &mut Random, object: &mut Value) {
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else {
        return;
    };
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    let Value::Object(annotations) = annotations else {
        return;
    };
    for name in [V1ALPHA1_EXTRAS, V1ALPHA2_EXTRAS] {
        if random.one_in(2) {
            annotations.insert(name.to_owned(), scribbled(random));
        }
    }
    if random.one_in(4) {
        let (name, value) = *random.pick(&[
            ("llamastack.io/v1alpha1-container-name", "custom"),
            ("llamastack.io/v1alpha1-container-name", ""),
            ("llamastack.io/v1alpha1-termination-grace-period", "60"),
            ("llamastack.io/v1alpha1-termination-grace-period", "soon"),
            ("llamastack.io/v1alpha1-user-config-namespace", "team-b"),
            ("llamastack.io/v1alpha1-ca-bundle-namespace", "team-c"),
            ("llamastack.io/v1alpha1-ca-bundle-keys", "[\"a.crt\"]"),
        ]);
        annotations.insert(name.to_owned(), value.into());
    }
}

fn scribbled(random: &mut Random) -> Value {
    const PATHS: [&str; 16] = [
        "/spec/workload/replicas",
        "/spec/workload/storage",
        "/spec/workload/storage/size",
        "/spec/workload/storage/deletionPolicy",
        "/spec/workload",
        "/spec/networking/expose",
        "/spec/networking/port",
        "/spec/overrideConfig",
        "/spec/providers",
        "/spec/server/containerSpec/name",
        "/spec/server/storage/size",
        "/spec/server/userConfig",
        "/spec/network",
        "/spec/server",
        "/status/phase",
        "/metadata/annotations",
    ];
    match random.below(8) {
        0 => json_value(random, 2),
        1 => json_value(random, 2).to_string().into(),
        2 => json!("[]"),
        3 => json!("[{\"kept\":\"[]\"}]"),
        4 => json!({"containerName": "custom", "terminationGracePeriod": 5}).to_string().into(),
        5 => json!({"providers": {"inference": {}}, "exposeHostname": "h"}).to_string().into(),
        _ => {
            let entries = (0..=random.below(3)).map(|_| {
                let mut entry = json!({"path": random.pick(&PATHS)});
                for key in ["was", "is", "beside"] {
                    if random.one_in(2) {
                        entry[key] = match random.below(4) {
                            0 => json!({}),
                            1 => json!(true),
                            2 => json!(1),
                            _ => json_value(random, 2),
                        };
                    }
                }
                entry
            });
            Value::Array(entries.collect()).to_string().into()
        }
    }
}
