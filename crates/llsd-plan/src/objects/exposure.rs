//! Which object makes the server reachable from outside, and under which host name: a Route where
//! OpenShift serves them, an HTTPRoute where the resource names a Gateway, else an Ingress.

use std::sync::LazyLock;

use llsd_api::expose::{Expose, ExposeSpec, GatewaySpec};

use super::Blueprint;
use crate::problem::{FieldPath, Findings, Reason};

pub(super) const GATEWAY_API: &str = "gateway.networking.k8s.io";
pub(super) const ROUTE_API: &str = "route.openshift.io";

/// How the server is reached from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Exposure<'a> {
    pub via: Via<'a>,
    /// The host name to plan with. Without it the cluster gives one, or there is none.
    pub host: Option<String>,
    pub how: &'a ExposeSpec,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Via<'a> {
    Ingress,
    HttpRoute(&'a GatewaySpec),
    Route,
}

static SIMPLY: LazyLock<ExposeSpec> = LazyLock::new(ExposeSpec::default);

/// `None` where the server is not exposed.
pub fn of<'a>(blueprint: &Blueprint<'a>) -> Option<Exposure<'a>> {
    let expose = blueprint.networking().expose.as_ref().filter(|expose| expose.is_on())?;
    let how = match expose {
        Expose::Flag(_) => &SIMPLY,
        Expose::How(how) => how.read()?,
    };
    let via = match &how.gateway {
        Some(gateway) => Via::HttpRoute(gateway),
        None if blueprint.serves(ROUTE_API) && !blueprint.facts.adopted.ingress => Via::Route,
        None => Via::Ingress,
    };
    let host = how.hostname.clone().or_else(|| match via {
        // OpenShift gives the Route a name under its own domain.
        Via::Route => None,
        Via::Ingress | Via::HttpRoute(_) => generated_host(blueprint),
    });
    Some(Exposure { via, host, how })
}

fn generated_host(blueprint: &Blueprint) -> Option<String> {
    let domain = blueprint.facts.operator.ingress_domain.as_deref()?;
    let domain = domain.trim_matches('.');
    (!domain.is_empty()).then(|| format!("{}.{domain}", host_label(blueprint)))
}

fn host_label(blueprint: &Blueprint) -> String {
    format!("{}-{}", blueprint.name, blueprint.namespace)
}

impl Exposure<'_> {
    fn kind(&self) -> &'static str {
        match self.via {
            Via::Ingress => "Ingress",
            Via::HttpRoute(_) => "HTTPRoute",
            Via::Route => "Route",
        }
    }
}

/// Remarks on what the chosen kind cannot do.
pub(super) fn check(blueprint: &Blueprint, findings: &mut Findings) {
    let Some(exposure) = of(blueprint) else { return };
    let path = FieldPath::spec().key("networking").key("expose");
    let kind = if exposure.via == Via::Route { "a Route" } else { "an HTTPRoute" };
    if matches!(exposure.via, Via::HttpRoute(_))
        && blueprint.facts.complete
        && !blueprint.serves(GATEWAY_API)
    {
        findings.problem(
            &path.key("gateway"),
            Reason::NotFound,
            "the cluster does not serve the Gateway API",
            "install the Gateway API, or remove gateway to be exposed by an Ingress",
        );
    }
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
    backend_speaks_https(blueprint, &exposure, &path, findings);
}

/// Neither an Ingress nor an HTTPRoute can say that its backend speaks https. Each controller has
/// an annotation or an object of its own for it.
fn backend_speaks_https(
    blueprint: &Blueprint,
    exposure: &Exposure,
    path: &FieldPath,
    findings: &mut Findings,
) {
    let said = exposure.how.annotations.iter().flatten().any(|(key, _)| {
        let key = key.to_ascii_lowercase();
        key.contains("backend-protocol") || key.contains("passthrough") || key.contains("scheme")
    });
    if blueprint.server_tls().is_none() || said {
        return;
    }
    let remedy = match exposure.via {
        Via::Route => return,
        Via::Ingress => {
            "set the annotation by which your controller speaks https to the backend in expose.annotations"
        }
        Via::HttpRoute(_) => "add a BackendTLSPolicy for the Service",
    };
    findings.warning(
        path,
        Reason::Conflict,
        format!(
            "the server speaks https, which the controller of its {} must do too",
            exposure.kind()
        ),
        remedy,
    );
}
