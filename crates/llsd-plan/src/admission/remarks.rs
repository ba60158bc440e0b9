//! Warnings that admission gives beyond those of the rules: about the version that was used, the
//! distribution's name, what a write through v1alpha1 takes away, and a move to OGX.

use std::collections::BTreeSet;

use llsd_api::conversion::{V1ALPHA2_EXTRAS, Version, convert, dropped};
use serde_json::Value;

use crate::plan::moved;
use crate::problem::{FieldPath, Findings, Problem, Reason};
use crate::resource::spec_of;
use crate::suggest::nearest;
use crate::validate::v1alpha1_path;

pub(super) fn add(
    version: Version,
    new: &Value,
    old: Option<&Value>,
    distributions: &BTreeSet<String>,
    findings: &mut Findings,
) {
    if version == Version::V1Alpha1 {
        old_version(findings);
        if let Some(old) = old {
            lost(old, new, findings);
        }
    }
    unknown_distribution(version, new, distributions, findings);
    if let Some(old) = old {
        to_ogx(version, new, old, findings);
    }
}

/// A change of the distribution that leaves llama-stack for OGX, as far as the resource shows it: an
/// image whose name does not is recognised by its labels, when it is planned.
fn to_ogx(version: Version, new: &Value, old: &Value, findings: &mut Findings) {
    let as_planned = |object: &Value| convert(object.clone(), Version::V1Alpha2);
    let (new, old) = (as_planned(new), as_planned(old));
    if new["spec"]["distribution"] == old["spec"]["distribution"] {
        return;
    }
    let Some(spec) = spec_of(&new) else { return };
    findings.warnings.extend(moved(&spec, &old["status"]).into_iter().map(
        |remark| match version {
            Version::V1Alpha1 => Problem { path: v1alpha1_path(&remark.path), ..remark },
            Version::V1Alpha2 => remark,
        },
    ));
}

fn old_version(findings: &mut Findings) {
    findings.warning(
        &FieldPath::root().key("apiVersion"),
        Reason::Deprecated,
        "llamastack.io/v1alpha1 stays served, but providers, resources and storage are only in \
         v1alpha2",
        "`llsd migrate -f FILE` rewrites a file",
    );
}

/// A write that keeps the annotation keeps what it holds; one that never had it takes that away.
fn lost(old: &Value, new: &Value, findings: &mut Findings) {
    let carries = |object: &Value| object["metadata"]["annotations"].get(V1ALPHA2_EXTRAS).is_some();
    if !carries(old) || carries(new) {
        return;
    }
    let lost = dropped(old, new);
    if !lost.is_empty() {
        findings.warning(
            &FieldPath::root().key("metadata").key("annotations").key(V1ALPHA2_EXTRAS),
            Reason::Ignored,
            format!("its removal removes {}", lost.join(", ")),
            "use apply or patch instead of replace, or write v1alpha2",
        );
    }
}

fn unknown_distribution(
    version: Version,
    new: &Value,
    known: &BTreeSet<String>,
    findings: &mut Findings,
) {
    let (holder, path) = match version {
        Version::V1Alpha1 => (&new["spec"]["server"], FieldPath::spec().key("server")),
        Version::V1Alpha2 => (&new["spec"], FieldPath::spec()),
    };
    let Some(name) = holder["distribution"]["name"].as_str() else { return };
    if known.contains(name) {
        return;
    }
    let names: Vec<&str> = known.iter().map(String::as_str).collect();
    let meant = nearest(name, names.iter().copied())
        .map(|meant| format!("did you mean {meant}? "))
        .unwrap_or_default();
    findings.warning(
        &path.key("distribution").key("name"),
        Reason::NotFound,
        format!("no distribution `{name}` is known, so no server is started"),
        format!("{meant}known are {}; any other runs by its image", names.join(", ")),
    );
}
