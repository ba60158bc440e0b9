//! The Service, which every server has.

use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::Value;

use super::blueprint::Blueprint;
use super::{labels, names};
use crate::problems::{FieldPath, Findings, Reason};
use crate::server::listening::Listening;

/// The port's name, also with TLS: Routes and NetworkPolicies that users made name it.
pub(super) const PORT_NAME: &str = "http";

/// Where the server is reached inside the cluster, as v0.9's status has it. No pod knows this address,
/// so that another domain restarts none.
pub fn url(blueprint: &Blueprint) -> String {
    let scheme = if blueprint.server_tls().is_some() { "https" } else { "http" };
    let (name, namespace) = (names::service(blueprint.name), blueprint.namespace);
    let (domain, port) = (blueprint.facts.operator.cluster_domain(), blueprint.port());
    format!("{scheme}://{name}.{namespace}.svc.{domain}:{port}")
}

/// The name of the port of figures.
pub(super) const METRICS_PORT_NAME: &str = "metrics";

/// How the pods listen to which a Service of ours leads; with TLS, the Service does not name the certificate.
pub fn listening(service: &Value, certificate: &str) -> Option<Listening> {
    let ports = service["spec"]["ports"].as_array()?;
    let find = |name: &str| ports.iter().find(|port| port["name"] == name);
    let number = |port: &Value| i32::try_from(port["port"].as_i64()?).ok();
    let own = find(PORT_NAME)?;
    Some(Listening {
        port: number(own)?,
        tls: (own["appProtocol"] == "https").then(|| certificate.into()),
        metrics: find(METRICS_PORT_NAME).and_then(number),
        guarded: false,
    })
}

fn ports(blueprint: &Blueprint) -> Vec<ServicePort> {
    let port = |name: &str, port: i32| ServicePort {
        name: Some(name.into()),
        protocol: Some("TCP".into()),
        port,
        target_port: Some(IntOrString::Int(port)),
        ..Default::default()
    };
    let own = ServicePort {
        app_protocol: blueprint.server_tls().map(|_| "https".into()),
        ..port(PORT_NAME, blueprint.port())
    };
    let metrics = blueprint.metrics_port().map(|at| port(METRICS_PORT_NAME, at));
    [own].into_iter().chain(metrics).collect()
}

pub(super) fn service(blueprint: &Blueprint, findings: &mut Findings) -> Service {
    let port = blueprint.port();
    if !(1..=65535).contains(&port) {
        // v1alpha2's schema refuses it; v1alpha1's does not.
        findings.problem(
            &FieldPath::spec().key("networking").key("port"),
            Reason::Invalid,
            format!("{port} is out of range"),
            "use a number from 1024 to 65535",
        );
    }
    Service {
        metadata: blueprint.owned(names::service(blueprint.name)),
        spec: Some(ServiceSpec {
            type_: Some("ClusterIP".into()),
            selector: Some(labels::selector(blueprint.name)),
            ports: Some(ports(blueprint)),
            ..Default::default()
        }),
        ..Default::default()
    }
}
