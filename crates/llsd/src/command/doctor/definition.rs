//! The resource's definition: there, served as it should be, and of this release.

use std::collections::BTreeSet;

use llsd_api::crd::manifest;
use serde_json::Value;

use super::finding::{DEFINE, Finding};

const CHECK: &str = "definition";
const FIELDS: &str = "its fields";
const STORED: &str = "stored versions";
/// The most fields that are named.
const NAMED: usize = 3;

/// All about the definition as the cluster has it.
pub(super) fn check(definition: Option<&Value>) -> Vec<Finding> {
    let Some(definition) = definition else {
        return vec![Finding::problem(CHECK, "LlamaStackDistribution is not defined", DEFINE)];
    };
    let mut findings = vec![served(definition)];
    findings.extend(fields(definition, &manifest()));
    findings.extend(stored(definition));
    findings
}

fn served(definition: &Value) -> Finding {
    let conditions = definition["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    let established = conditions.find(|condition| condition["type"] == "Established");
    if established.is_none_or(|condition| condition["status"] != "True") {
        let why = established.and_then(|condition| condition["message"].as_str());
        return Finding::problem(
            CHECK,
            format!("is not established: {}", why.unwrap_or("the API server says nothing of it")),
            "kubectl describe crd llamastackdistributions.llamastack.io",
        );
    }
    let versions = definition["spec"]["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let has = |name: &str, key: &str| {
        versions.iter().any(|version| version["name"] == name && version[key] == true)
    };
    if !has("v1alpha2", "served") || !has("v1alpha2", "storage") {
        let says = "does not serve and store v1alpha2: it is of an earlier operator";
        return Finding::problem(CHECK, says, DEFINE);
    }
    if !has("v1alpha1", "served") {
        let says = "does not serve v1alpha1; resources of that version cannot be applied";
        return Finding::warning(CHECK, says, DEFINE);
    }
    Finding::ok(CHECK, "v1alpha1 and v1alpha2 are served, v1alpha2 is stored")
}

/// An older definition makes the API server refuse what this release documents.
fn fields(definition: &Value, own: &Value) -> Option<Finding> {
    let (there, known) = (paths(definition), paths(own));
    if there.is_empty() {
        return None;
    }
    let missing: Vec<&String> = known.difference(&there).collect();
    let more: Vec<&String> = there.difference(&known).collect();
    Some(if !missing.is_empty() {
        let says =
            format!("{} of this release are missing: {}", counted(missing.len()), named(&missing));
        Finding::warning(FIELDS, says, DEFINE)
    } else if !more.is_empty() {
        let says = format!(
            "it has {} that this program does not know: {}",
            counted(more.len()),
            named(&more)
        );
        Finding::warning(FIELDS, says, "use llsd of the operator's release")
    } else {
        Finding::ok(FIELDS, format!("those of llsd {}", env!("CARGO_PKG_VERSION")))
    })
}

/// Every field of the spec of v1alpha2. Those below fields that are new say nothing more.
fn paths(definition: &Value) -> BTreeSet<String> {
    let versions = definition["spec"]["versions"].as_array().into_iter().flatten();
    let mut versions = versions.filter(|version| version["name"] == "v1alpha2");
    let mut found = BTreeSet::new();
    if let Some(version) = versions.next() {
        below("spec", &version["schema"]["openAPIV3Schema"]["properties"]["spec"], &mut found);
    }
    found
}

fn below(path: &str, schema: &Value, found: &mut BTreeSet<String>) {
    let holder = if schema.get("properties").is_some() { schema } else { &schema["items"] };
    for (name, field) in holder["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        below(&path, field, found);
        found.insert(path);
    }
}

fn counted(count: usize) -> String {
    if count == 1 { "1 field".to_owned() } else { format!("{count} fields") }
}

/// The outermost ones, of which the others are parts.
fn named(paths: &[&String]) -> String {
    let is_outer = |path: &&&String| {
        let is_above = |other: &&String| path.starts_with(&format!("{other}."));
        !paths.iter().any(is_above)
    };
    let outer: Vec<&str> = paths.iter().filter(is_outer).map(|path| path.as_str()).collect();
    let more = if outer.len() > NAMED { ", …" } else { "" };
    format!("{}{more}", outer[..outer.len().min(NAMED)].join(", "))
}

/// What is still stored as v1alpha1 keeps that version from ever being dropped.
fn stored(definition: &Value) -> Option<Finding> {
    let stored = definition["status"]["storedVersions"].as_array()?;
    Some(if stored.iter().any(|version| version == "v1alpha1") {
        Finding::warning(
            STORED,
            "the cluster may still store resources as v1alpha1",
            "llsd migrate --in-cluster",
        )
    } else {
        Finding::ok(STORED, "all resources are stored as v1alpha2")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::finding::Level;
    use super::*;

    fn installed() -> Value {
        let mut definition = manifest();
        definition["status"] = json!({
            "conditions": [{"type": "Established", "status": "True"}],
            "storedVersions": ["v1alpha2"],
        });
        definition
    }

    fn found(change: impl FnOnce(&mut Value)) -> Vec<(Level, String)> {
        let mut definition = installed();
        change(&mut definition);
        let found = check(Some(&definition)).into_iter();
        found.filter(|it| it.level != Level::Ok).map(|it| (it.level, it.says)).collect()
    }

    #[test]
    fn the_definition_of_this_release_is_fine() {
        assert_eq!(found(|_| ()), []);
    }

    #[test]
    fn each_fault_of_a_definition_is_named() {
        let older = found(|it| {
            let spec =
                &mut it["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
            spec["properties"].as_object_mut().unwrap().remove("access");
        });
        assert!(
            older[0].1.ends_with("fields of this release are missing: spec.access"),
            "{older:?}"
        );
        let newer = found(|it| {
            let spec =
                &mut it["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
            spec["properties"]["tomorrow"] = json!({"type": "string"});
        });
        assert_eq!(newer[0].1, "it has 1 field that this program does not know: spec.tomorrow");
        let migrated = found(|it| it["status"]["storedVersions"] = json!(["v1alpha1", "v1alpha2"]));
        assert_eq!(migrated[0].0, Level::Warning);
        let refused = found(|it| it["status"]["conditions"][0]["status"] = json!("False"));
        assert_eq!(refused[0].0, Level::Problem);
        let v0_9 = found(|it| it["spec"]["versions"][0]["storage"] = json!(false));
        assert_eq!(v0_9[0].0, Level::Problem);
        assert_eq!(check(None)[0].level, Level::Problem);
    }
}
