//! What the chosen way out of the cluster cannot do.

use std::collections::BTreeSet;

use super::decision::{Exposure, Via, exposure, host_label};
use super::withheld::withheld;
use crate::objects::blueprint::Blueprint;
use crate::problems::{FieldPath, Findings, Reason};

pub(in crate::objects) fn check(blueprint: &Blueprint, findings: &mut Findings) {
    let Some(exposure) = exposure(blueprint) else { return };
    let path = FieldPath::spec().key("networking").key("expose");
    let kind = if exposure.via == Via::Route { "a Route" } else { "an HTTPRoute" };
    let made =
        exposure.how.hostname.is_none() && (exposure.host.is_some() || exposure.via == Via::Route);
    if made && host_label(blueprint).len() > 63 {
        findings.problem(
            &path,
            Reason::Required,
            format!("the host name `{}.…` would be too long for DNS", host_label(blueprint)),
            "set expose.hostname",
        );
    }
    for (field, set) in [
        ("className", exposure.how.class_name.is_some()),
        ("tlsSecretName", exposure.how.tls_secret_name.is_some()),
    ] {
        if set && exposure.via != Via::Ingress {
            findings.warning(
                &path.key(field),
                Reason::Ignored,
                format!("is only for an Ingress, and this server gets {kind}"),
                "remove it",
            );
        }
    }
    within_limits(blueprint, &exposure, &path, findings);
    let is_made = withheld(blueprint).is_none();
    if exposure.via == Via::Ingress && exposure.host.is_none() && is_made {
        findings.warning(
            &path,
            Reason::Conflict,
            CATCH_ALL,
            "set expose.hostname, or ingressDomain in the operator's ConfigMap",
        );
    }
    backend_speaks_https(blueprint, &exposure, &path, findings);
}

/// Whether the operator's configuration allows the host name and the annotations. A name that the operator
/// makes, or OpenShift, is an administrator's choice.
fn within_limits(
    blueprint: &Blueprint,
    exposure: &Exposure,
    path: &FieldPath,
    findings: &mut Findings,
) {
    let limits = &blueprint.facts.operator.exposure;
    let listed = |names: &Option<BTreeSet<String>>| {
        names.iter().flatten().map(String::as_str).collect::<Vec<_>>().join(", ")
    };
    let choose = || match listed(&limits.allowed_domains).as_str() {
        "" => "ask an administrator: no host name is allowed".to_owned(),
        domains => format!("set expose.hostname to a name in one of: {domains}"),
    };
    match &exposure.how.hostname {
        Some(host) if !limits.allows_host(host) => findings.problem(
            &path.key("hostname"),
            Reason::Invalid,
            if host.starts_with("*.") {
                format!("{host} is no wildcard that the operator's configuration lists")
            } else {
                format!("{host} is in no domain that the operator's configuration allows")
            },
            choose(),
        ),
        None if limits.allowed_domains.is_some()
            && exposure.host.is_none()
            && exposure.via != Via::Route =>
        {
            findings.problem(
                path,
                Reason::Required,
                "without a host name it would take requests for every name, which the operator's \
                 configuration does not allow",
                choose(),
            );
        }
        _ => {}
    }
    let annotations = exposure.how.annotations.iter().flat_map(|annotations| annotations.keys());
    for name in annotations.filter(|name| !limits.allows_annotation(name)) {
        let allowed = listed(&limits.allowed_annotations);
        findings.problem(
            &path.key("annotations").key(name),
            Reason::Invalid,
            "the operator's configuration does not allow this annotation",
            match allowed.as_str() {
                "" => "remove it; none is allowed".to_owned(),
                allowed => format!("remove it; allowed are {allowed}"),
            },
        );
    }
}

/// What an Ingress without a host name does.
pub const CATCH_ALL: &str = "without a host name the Ingress takes requests for every name that the \
                             controller serves, and a second one like it collides with this";

/// Neither an Ingress nor an HTTPRoute can say that its backend speaks https. Each controller has
/// a separate annotation or object for it.
fn backend_speaks_https(
    blueprint: &Blueprint,
    exposure: &Exposure,
    path: &FieldPath,
    findings: &mut Findings,
) {
    let stated = exposure.how.annotations.iter().flatten().any(|(key, _)| {
        let key = key.to_ascii_lowercase();
        key.contains("backend-protocol") || key.contains("passthrough") || key.contains("scheme")
    });
    if blueprint.server_tls().is_none() || stated {
        return;
    }
    let (kind, remedy) = match exposure.via {
        Via::Route => return,
        Via::Ingress => (
            "Ingress",
            "set the annotation by which your controller speaks https to the backend in expose.annotations",
        ),
        Via::HttpRoute(_) => ("HTTPRoute", "add a BackendTLSPolicy for the Service"),
    };
    findings.warning(
        path,
        Reason::Conflict,
        format!("the server speaks https, which the controller of its {kind} must do too"),
        remedy,
    );
}
