//! The HTTPRoute of a server that is exposed through a Gateway. Its type is no part of Kubernetes
//! itself, so it is written as JSON; `gateway.networking.k8s.io/v1` is stable.

use serde_json::{Map, Value, json};

use super::decision::{self, Via};
use super::timeouts;
use crate::objects::blueprint::Blueprint;
use crate::objects::kind::ObjectKind;
use crate::objects::names;

pub(in crate::objects) fn http_route(blueprint: &Blueprint) -> Option<Value> {
    let exposure = decision::exposure(blueprint)?;
    let Via::HttpRoute(gateway) = exposure.via else { return None };
    let mut parent = Map::new();
    parent.insert("name".into(), json!(gateway.name));
    for (field, value) in
        [("namespace", &gateway.namespace), ("sectionName", &gateway.section_name)]
    {
        if let Some(value) = value {
            parent.insert(field.into(), json!(value));
        }
    }
    let mut spec = Map::new();
    spec.insert("parentRefs".into(), json!([parent]));
    if let Some(host) = &exposure.host {
        spec.insert("hostnames".into(), json!([host]));
    }
    let mut everything = json!({
        "matches": [{"path": {"type": "PathPrefix", "value": "/"}}],
        "backendRefs": [{"name": names::service(blueprint.name), "port": blueprint.port()}],
    });
    if let Some(time) = timeouts::of_http_route(&exposure) {
        everything["timeouts"] = json!({"request": time});
    }
    spec.insert("rules".into(), json!([everything]));
    let mut metadata = blueprint.owned(names::of(ObjectKind::HttpRoute, blueprint.name));
    metadata.annotations.clone_from(&exposure.how.annotations);
    Some(json!({
        "apiVersion": ObjectKind::HttpRoute.api_version(),
        "kind": "HTTPRoute",
        "metadata": metadata,
        "spec": spec,
    }))
}
