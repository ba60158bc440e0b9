//! The resource definition as operator v0.9 installs it: v1alpha1 alone, served and stored, and no
//! conversion.

use serde_json::{Value, json};

/// The definition of v0.9.
pub fn definition() -> Value {
    let mut definition = llsd_api::crd::manifest();
    let spec = definition["spec"].as_object_mut().unwrap();
    spec.shift_remove("conversion");
    let versions = spec["versions"].as_array().unwrap().iter();
    let mut v1alpha1 =
        versions.clone().find(|version| version["name"] == "v1alpha1").unwrap().clone();
    v1alpha1["storage"] = json!(true);
    spec.insert("versions".to_owned(), json!([v1alpha1]));
    definition
}
