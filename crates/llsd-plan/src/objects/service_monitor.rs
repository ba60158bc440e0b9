//! The ServiceMonitor, by which a Prometheus finds the server's figures. Its type is no part of Kubernetes itself,
//! so it is written as JSON; `monitoring.coreos.com/v1` is stable.

use serde_json::{Value, json};

use super::blueprint::Blueprint;
use super::kind::ObjectKind;
use super::service::METRICS_PORT_NAME;
use super::{labels, names};
use crate::facts::Served;
use crate::problems::{FieldPath, Findings, Reason};

pub(super) fn service_monitor(blueprint: &Blueprint, findings: &mut Findings) -> Option<Value> {
    let kind = ObjectKind::ServiceMonitor;
    let asked = blueprint.spec.monitoring.as_ref()?.service_monitor.as_ref();
    let path = FieldPath::spec().key("monitoring").key("serviceMonitor");
    if blueprint.metrics_port().is_none() {
        if asked.is_some() {
            let remedy = "set monitoring.metrics.enabled, or remove serviceMonitor";
            findings.warning(&path, Reason::Ignored, "there are no metrics to be read", remedy);
        }
        return None;
    }
    // Offline, what is not mentioned is assumed to exist where somebody asks for it.
    let is_served = match blueprint.facts.serves(kind.api()) {
        Served::Yes => true,
        Served::No | Served::Unknown => !blueprint.facts.complete && asked.is_some(),
    };
    if !is_served {
        if asked.is_some() {
            findings.warning(
                &path,
                Reason::NotFound,
                format!("the cluster does not serve {} ({})", kind.name(), kind.api_version()),
                "install the Prometheus Operator; the object is made as soon as its kind is served",
            );
        }
        return None;
    }
    let mut metadata = blueprint.owned(names::of(kind, blueprint.name));
    let more = asked.and_then(|asked| asked.labels.clone()).unwrap_or_default();
    let own = metadata.labels.take().unwrap_or_default();
    metadata.labels = Some(more.into_iter().chain(own).collect());
    Some(json!({
        "apiVersion": kind.api_version(),
        "kind": kind.name(),
        "metadata": metadata,
        "spec": {
            "selector": {"matchLabels": labels::of_objects(blueprint.name)},
            "endpoints": [{"port": METRICS_PORT_NAME}],
        },
    }))
}
