//! A finding as the files of a golden case.

use std::fmt::Write;

use llsd_yaml::document;
use serde_json::json;

use crate::finding::Finding;

/// The files, each under its name.
pub fn golden_case(finding: &Finding) -> String {
    let Finding { kind, what, trial } = finding;
    let mut text = format!("resource.yaml:\n# {kind}: {what}\n");
    if let Some(base) = &trial.base.shared {
        let _ = writeln!(text, "# base: {base}");
    }
    let mut resource = trial.resource();
    if let Some(metadata) = resource["metadata"].as_object_mut() {
        metadata.shift_remove("namespace");
    }
    text.push_str(&document::manifest(&resource));
    let facts = json!({"image": {"release": trial.release.name()}});
    let _ = write!(text, "facts.yaml:\n{}", document::manifest(&facts));
    if trial.base.shared.is_none() {
        let _ = write!(text, "base.yaml:\n{}", trial.base.text);
    }
    text
}
