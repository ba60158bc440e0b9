//! The Route of an exposed server on OpenShift, written as JSON because its type is no part of
//! Kubernetes itself. With a server that speaks TLS the router passes bytes on; else it serves
//! TLS itself.

use serde_json::{Map, Value, json};

use super::decision::{self, Via};
use super::timeouts;
use crate::objects::blueprint::Blueprint;
use crate::objects::kind::ObjectKind;
use crate::objects::names;
use crate::objects::service::PORT_NAME;

pub(in crate::objects) fn route(blueprint: &Blueprint) -> Option<Value> {
    let exposure = decision::exposure(blueprint).filter(|exposure| exposure.via == Via::Route)?;
    let mut spec = Map::new();
    // A Route has a policy instead of an asterisk, and ignores the host's first label with it.
    match exposure.host.as_deref().map(|host| (host, host.strip_prefix("*."))) {
        Some((_, Some(domain))) => {
            spec.insert("host".into(), json!(format!("wildcard.{domain}")));
            spec.insert("wildcardPolicy".into(), json!("Subdomain"));
        }
        Some((host, None)) => _ = spec.insert("host".into(), json!(host)),
        None => {}
    }
    let service = json!({"kind": "Service", "name": names::service(blueprint.name), "weight": 100});
    spec.insert("to".into(), service);
    spec.insert("port".into(), json!({"targetPort": PORT_NAME}));
    let termination = if blueprint.server_tls().is_some() { "passthrough" } else { "edge" };
    spec.insert(
        "tls".into(),
        json!({"termination": termination, "insecureEdgeTerminationPolicy": "Redirect"}),
    );
    let mut metadata = blueprint.owned(names::of(ObjectKind::Route, blueprint.name));
    metadata.annotations = Some(timeouts::of_route(&exposure));
    Some(json!({
        "apiVersion": ObjectKind::Route.api_version(),
        "kind": "Route",
        "metadata": metadata,
        "spec": spec,
    }))
}
