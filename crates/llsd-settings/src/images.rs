//! Images in place of those that the distributions' table names: from `image-overrides`, and from
//! the variables `RELATED_IMAGE_…` of the operator.

use std::collections::BTreeMap;

use llsd_image::Reference;
use llsd_image::settings::Problems;
use llsd_plan::releases::Distribution;
use serde_json::{Map, Value};

use super::key::ConfigKey;
use super::remarks::below;

const RELATED_IMAGE: &str = "RELATED_IMAGE_";

/// The overrides of known distributions by valid images; an override introduces no new name.
pub(super) fn overrides(
    entries: Map<String, Value>,
    remarks: &mut Problems,
) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (name, image) in entries {
        let path = below(ConfigKey::ImageOverrides.name(), &name);
        if !Distribution::all().contains_key(&name) {
            remarks.at(&path, format!("no such distribution; known are {}", known()));
            continue;
        }
        let Value::String(image) = image else {
            remarks.at(&path, "must be an image reference");
            continue;
        };
        if is_image(&path, &image, remarks) {
            found.insert(name, image);
        }
    }
    found
}

/// The images of `RELATED_IMAGE_<NAME>`: the name in capitals, with `_` for `-`. An empty variable
/// is as good as none, because installers leave them so.
pub(super) fn related(
    environment: impl Iterator<Item = (String, String)>,
    remarks: &mut Problems,
) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    // The environment has no order of its own, and remarks should not change theirs.
    let variables: BTreeMap<String, String> = environment.collect();
    for (variable, image) in variables {
        let Some(suffix) = variable.strip_prefix(RELATED_IMAGE) else { continue };
        if image.is_empty() {
            continue;
        }
        let Some(name) = Distribution::all().keys().find(|name| in_capitals(name) == suffix) else {
            remarks.at(&variable, format!("is of no distribution; known are {}", known()));
            continue;
        };
        if is_image(&variable, &image, remarks) {
            found.insert(name.clone(), image);
        }
    }
    found
}

fn in_capitals(name: &str) -> String {
    name.to_uppercase().replace('-', "_")
}

fn is_image(path: &str, image: &str, remarks: &mut Problems) -> bool {
    let parsed = image.parse::<Reference>();
    parsed.map_err(|why| remarks.at(path, why.to_string())).is_ok()
}

fn known() -> String {
    let names: Vec<&str> = Distribution::all().keys().map(String::as_str).collect();
    names.join(", ")
}
