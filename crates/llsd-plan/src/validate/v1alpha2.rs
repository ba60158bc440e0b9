//! Validates a v1alpha2 resource: how much it holds, its name, its spec by the schema and by the rules that tie
//! fields together.

use llsd_api::rules::RESOURCE_NAME;
use serde_json::Value;

use super::value::{broken, present};
use super::{endpoints, images, limits, misplaced, misspelt, rules, schema, shape};
use crate::problems::{FieldPath, Findings, Reason};
use crate::releases::Releases;

/// All problems and warnings of a v1alpha2 resource that a person writes.
pub(super) fn check_written(resource: &Value) -> Findings {
    let mut findings = check(resource);
    if findings.exceed_a_limit() {
        return findings;
    }
    let spec = &resource["spec"];
    endpoints::check(spec, &mut findings);
    images::check(spec, &mut findings);
    misspelt::providers(&spec["providers"], &mut findings);
    misspelt::disabled(spec, &mut findings);
    several_replicas(spec, &mut findings);
    misplaced::tell_places(&mut findings);
    findings
}

/// Replicas that share no state answer differently: a model or a file that one of them was given is
/// unknown to the others. Where an image of the user's own keeps its state cannot be told here.
fn several_replicas(spec: &Value, findings: &mut Findings) {
    let is_outside = |store: &str| spec.pointer(store).is_some_and(|kind| kind != "sqlite");
    let name = spec.pointer("/distribution/name").and_then(Value::as_str).unwrap_or_default();
    let distribution = Releases::shipped().distributions.get(name);
    if distribution.is_none_or(|known| !known.base().contains("sqlite"))
        || (is_outside("/storage/kv/type") && is_outside("/storage/sql/type"))
        || present(spec, "overrideConfig").is_some()
    {
        return;
    }
    let count = |pointer: &str| spec.pointer(pointer).and_then(Value::as_i64).unwrap_or(1);
    let workload = FieldPath::spec().key("workload");
    let path = if count("/workload/autoscaling/maxReplicas") > 1 {
        workload.key("autoscaling").key("maxReplicas")
    } else if count("/workload/replicas") > 1 {
        workload.key("replicas")
    } else {
        return;
    };
    findings.warning(
        &path,
        Reason::Conflict,
        "the replicas share no state: what one of them was given is unknown to the others",
        "set storage.kv to redis and storage.sql to postgres, or use one replica",
    );
}

/// All problems and warnings of a v1alpha2 resource that the API server holds, or that was converted.
/// A server that runs with it must go on running, so this accepts what earlier releases of the
/// operator accepted, and what v1alpha1 accepts.
pub(crate) fn validate_stored(resource: &Value) -> Findings {
    let mut findings = check(resource);
    if findings.exceed_a_limit() {
        return findings;
    }
    allow_low_port(resource, &mut findings);
    let mut of_late = Findings::default();
    endpoints::check(&resource["spec"], &mut of_late);
    misspelt::disabled(&resource["spec"], &mut of_late);
    findings.warnings.extend(of_late.problems);
    findings.warnings.extend(of_late.warnings);
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
    limits::check(&schema::V1ALPHA2_SPEC, resource, &mut findings);
    resource_name(resource, &mut findings);
    namespace(resource, &mut findings);
    if findings.exceed_a_limit() {
        return findings;
    }
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
        broken(&RESOURCE_NAME, &metadata.key("name"), Reason::Invalid, findings);
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
