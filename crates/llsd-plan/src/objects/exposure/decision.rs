//! Which object makes the server reachable from outside, and under which host name: a Route where
//! OpenShift serves them, an HTTPRoute where the resource names a Gateway, else an Ingress.

use std::sync::LazyLock;

use llsd_api::expose::{Expose, ExposeSpec, GatewaySpec};

use crate::objects::blueprint::Blueprint;
use crate::objects::kind::ObjectKind;

/// How the server is reached from outside.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::objects) struct Exposure<'a> {
    pub via: Via<'a>,
    /// The host name to plan with. Without it the cluster gives one, or there is none.
    pub host: Option<String>,
    pub how: &'a ExposeSpec,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::objects) enum Via<'a> {
    Ingress,
    HttpRoute(&'a GatewaySpec),
    Route,
}

static SIMPLY: LazyLock<ExposeSpec> = LazyLock::new(ExposeSpec::default);

/// `None` where the server is not exposed.
pub(in crate::objects) fn exposure<'a>(blueprint: &Blueprint<'a>) -> Option<Exposure<'a>> {
    let expose = blueprint.networking().expose.as_ref().filter(|expose| expose.is_on())?;
    let how = match expose {
        Expose::Flag(_) => &SIMPLY,
        Expose::How(how) => how.understood()?,
    };
    let via = match &how.gateway {
        Some(gateway) => Via::HttpRoute(gateway),
        None if blueprint.serves(ObjectKind::Route.api()) && !blueprint.facts.adopted.ingress => {
            Via::Route
        }
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

pub(super) fn host_label(blueprint: &Blueprint) -> String {
    format!("{}-{}", blueprint.name, blueprint.namespace)
}
