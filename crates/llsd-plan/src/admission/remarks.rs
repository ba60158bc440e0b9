//! What admission finds beyond the rules: about the version that was used, the
//! distribution's name and types of providers, what a write through v1alpha1 takes away, a move to OGX,
//! and an address that others may have too.

use std::collections::BTreeSet;

use llsd_api::conversion::{V1ALPHA2_EXTRAS, Version, convert, dropped};
use llsd_api::expose::Expose;
use llsd_api::rules::ACCESS_IS_CARRIED;
use serde_json::Value;

use crate::objects::CATCH_ALL;
use crate::plan::moved;

use crate::problems::{FieldPath, Findings, Problem, Reason};
use crate::resource::image::known_distributions;
use crate::resource::spec_of;
use crate::validate::{v1alpha1_path, warn_of_types};

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
    if version == Version::V1Alpha2 {
        warn_of_types(&new["spec"]["providers"], findings);
    }
    catch_all(version, new, old, findings);
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
    let has_access =
        |object: &Value| convert(object.clone(), Version::V1Alpha2)["spec"].get("access").is_some();
    let path = FieldPath::root().key("metadata").key("annotations").key(V1ALPHA2_EXTRAS);
    if has_access(old) && !has_access(new) {
        // Not a warning: a client that replaces would open the server to everybody.
        let (message, remedy) = (ACCESS_IS_CARRIED.message, ACCESS_IS_CARRIED.remedy);
        findings.problem(&path, Reason::Conflict, message, remedy);
    }
    let carries = |object: &Value| object["metadata"]["annotations"].get(V1ALPHA2_EXTRAS).is_some();
    if !carries(old) || carries(new) {
        return;
    }
    let lost = dropped(old, new);
    if !lost.is_empty() {
        findings.warning(
            &path,
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
    findings.warning(
        &path.key("distribution").key("name"),
        Reason::NotFound,
        format!("no distribution `{name}` is known, so no server is started"),
        known_distributions(name, known.iter()),
    );
}

/// A server that is exposed from now on under no name of its own. Whether it becomes an Ingress, and
/// whether the operator gives it a name, is only known when it is planned.
fn catch_all(version: Version, new: &Value, old: Option<&Value>, findings: &mut Findings) {
    let is_nameless = |object: &Value| {
        let spec = spec_of(&convert(object.clone(), Version::V1Alpha2))?;
        let expose = spec.networking?.expose.filter(Expose::is_on)?;
        Some(match expose {
            Expose::Flag(_) => true,
            Expose::How(how) => {
                how.understood().is_some_and(|how| how.hostname.is_none() && how.gateway.is_none())
            }
        })
    };
    if is_nameless(new) != Some(true) || old.and_then(is_nameless) == Some(true) {
        return;
    }
    let (path, remedy) = match version {
        Version::V1Alpha1 => (
            FieldPath::spec().key("network").key("exposeRoute"),
            "v1alpha2 has expose.hostname; or set ingressDomain in the operator's ConfigMap",
        ),
        Version::V1Alpha2 => (
            FieldPath::spec().key("networking").key("expose"),
            "set expose.hostname, or ingressDomain in the operator's ConfigMap",
        ),
    };
    let message = format!("where no Route is made and the operator knows no domain: {CATCH_ALL}");
    findings.warning(&path, Reason::Conflict, message, remedy);
}
