//! `caBundleNamespaces`: the namespaces whose ConfigMaps with certificate authorities resources of
//! other namespaces may name, as a YAML list or with commas between them. `*` stands for all.

use std::collections::BTreeSet;

use llsd_image::settings::Problems;
use llsd_plan::facts::ANY_NAMESPACE;
use llsd_yaml::document;
use serde_json::Value;

use super::domain::is_label;
use super::key::ConfigKey;

pub(super) fn namespaces(text: &str, remarks: &mut Problems) -> BTreeSet<String> {
    let key = ConfigKey::CaBundleNamespaces.name();
    // A bare `*` would be an alias of YAML, and is what people write.
    if text.trim() == ANY_NAMESPACE {
        return [ANY_NAMESPACE.to_owned()].into();
    }
    let listed: Vec<Value> = match document::read(text) {
        Ok(Value::Null) => Vec::new(),
        Ok(Value::Array(listed)) => listed,
        Ok(Value::String(listed)) => listed.split(',').map(|name| name.trim().into()).collect(),
        Ok(_) => {
            remarks.at(key, "must be a list of namespaces");
            return BTreeSet::new();
        }
        Err(wrong) => {
            remarks.at(key, format!("{}: {}", wrong.message, wrong.at));
            return BTreeSet::new();
        }
    };
    let mut found = BTreeSet::new();
    for (index, name) in listed.into_iter().enumerate() {
        match name {
            Value::String(name) if name == ANY_NAMESPACE || is_label(&name) => {
                found.insert(name);
            }
            _ => remarks.at(&format!("{key}[{index}]"), "must be the name of a namespace, or `*`"),
        }
    }
    found
}
