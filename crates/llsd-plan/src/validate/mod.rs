//! Judges a resource by itself, without a base configuration or a cluster. The command line,
//! admission and reconcile all ask here, and the API server's own verdict is the same.

mod depth;
mod pattern;
mod providers;
mod resources;
mod rules;
mod schema;
mod shape;
mod v1alpha1;
mod value;

use llsd_api::conversion::Version;
use llsd_api::rules::RESOURCE_NAME;
use serde_json::Value;

use crate::problem::{FieldPath, Findings, Reason};

pub use depth::{DEEPEST, too_deep};
pub use v1alpha1::own_path as v1alpha1_path;

/// All problems and warnings of a resource of either version, in the order of their paths.
pub fn validate(resource: &Value) -> Findings {
    let mut findings = match Version::of(resource) {
        Some(Version::V1Alpha1) => v1alpha1::check(resource),
        _ => check(resource),
    };
    findings.sort();
    findings
}

/// The same for a v1alpha2 resource that the API server holds, or that was converted: what is in it
/// and v1alpha2 refuses came through v1alpha1, and a server that runs with it must go on running.
pub(crate) fn validate_stored(resource: &Value) -> Findings {
    let mut findings = check(resource);
    allow_low_port(resource, &mut findings);
    findings.sort();
    findings
}

/// v1alpha1 has no lower bound for ports.
fn allow_low_port(resource: &Value, findings: &mut Findings) {
    let path = FieldPath::spec().key("networking").key("port");
    let port = resource.pointer("/spec/networking/port").and_then(Value::as_i64);
    if port.is_some_and(|port| (0..1024).contains(&port)) {
        findings.problems.retain(|problem| problem.path != path);
    }
}

fn check(resource: &Value) -> Findings {
    let mut findings = Findings::default();
    if depth::depth(resource) > DEEPEST {
        findings.problems.push(too_deep());
    }
    resource_name(resource, &mut findings);
    namespace(resource, &mut findings);
    match present(resource, "spec") {
        None => findings.problem(
            &FieldPath::spec(),
            Reason::Required,
            "is required",
            "add a spec with a distribution",
        ),
        Some(spec) => {
            shape::check(&schema::V1ALPHA2_SPEC, spec, &FieldPath::spec(), &mut findings);
            rules::check(spec, &mut findings);
        }
    }
    findings
}

fn resource_name(resource: &Value, findings: &mut Findings) {
    let metadata = FieldPath::root().key("metadata");
    let Some(name) = resource.pointer("/metadata/name") else {
        // Admission of `generateName` sees no name yet; the API server checks the one it makes.
        if resource.pointer("/metadata/generateName").is_none() {
            findings.problem(
                &metadata.key("name"),
                Reason::Required,
                "is required",
                "give the resource a name",
            );
        }
        return;
    };
    let well_formed = name.as_str().is_some_and(|name| {
        name.len() <= 55
            && name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.ends_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    });
    if !well_formed {
        findings.problem(
            &metadata.key("name"),
            Reason::Invalid,
            RESOURCE_NAME.message,
            RESOURCE_NAME.remedy,
        );
    }
}

/// The API server takes the namespace from the request and compares; files are read without one.
fn namespace(resource: &Value, findings: &mut Findings) {
    let Some(namespace) = resource.pointer("/metadata/namespace").filter(|name| !name.is_null())
    else {
        return;
    };
    let well_formed = namespace.as_str().is_some_and(|name| {
        let outer = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        name.len() <= 63
            && name.chars().all(|c| outer(c) || c == '-')
            && !name.starts_with('-')
            && !name.ends_with('-')
    });
    if !well_formed {
        findings.problem(
            &FieldPath::root().key("metadata").key("namespace"),
            Reason::Invalid,
            "is no name of a namespace",
            "use lowercase letters, digits and `-`, at most 63, in quotes if all are digits",
        );
    }
}

/// The field of an object; `null` counts as absent, as the API server drops it.
fn present<'a>(object: &'a Value, field: &str) -> Option<&'a Value> {
    object.get(field).filter(|value| !value.is_null())
}
