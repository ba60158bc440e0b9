//! `exposure`: under which names resources may expose their servers, and with which annotations:
//!
//! ```yaml
//! allowedDomains: [apps.example.com, "*.team.example.com"]
//! allowedAnnotations: [cert-manager.io/*]
//! ```

use std::collections::BTreeSet;

use llsd_image::settings::Problems;
use llsd_plan::facts::ExposureLimits;
use serde_json::{Map, Value};

use super::domain::is_domain;
use super::key::ConfigKey;
use super::remarks::below;

const DOMAINS: &str = "allowedDomains";
const ANNOTATIONS: &str = "allowedAnnotations";

pub(super) fn limits(fields: &Map<String, Value>, remarks: &mut Problems) -> ExposureLimits {
    let key = ConfigKey::Exposure.name();
    for field in fields.keys().filter(|field| ![DOMAINS, ANNOTATIONS].contains(&field.as_str())) {
        let message = format!("unknown field; known are {DOMAINS} and {ANNOTATIONS}");
        remarks.at(&below(key, field), message);
    }
    let is_allowed_domain = |name: &str| is_domain(name.strip_prefix("*.").unwrap_or(name));
    let is_annotation = |name: &str| !name.is_empty() && !name.contains(char::is_whitespace);
    let mut list = |field: &str, is_valid: &dyn Fn(&str) -> bool, must_be: &str| {
        let path = below(key, field);
        let listed = match fields.get(field) {
            None | Some(Value::Null) => return None,
            Some(Value::Array(listed)) => listed,
            Some(_) => {
                remarks.at(&path, "must be a list");
                return None;
            }
        };
        let mut found = BTreeSet::new();
        for (index, item) in listed.iter().enumerate() {
            match item.as_str().filter(|text| is_valid(text)) {
                Some(text) => _ = found.insert(text.to_owned()),
                None => remarks.at(&format!("{path}[{index}]"), must_be),
            }
        }
        Some(found)
    };
    ExposureLimits {
        allowed_domains: list(
            DOMAINS,
            &is_allowed_domain,
            "must be a domain such as apps.example.com, which stands for all names in it, or \
             *.apps.example.com, which stands for the wildcard, too",
        ),
        allowed_annotations: list(
            ANNOTATIONS,
            &is_annotation,
            "must be the name of an annotation, or its beginning with `*` behind it",
        ),
    }
}
