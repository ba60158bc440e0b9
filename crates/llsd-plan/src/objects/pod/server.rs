//! The container that runs the server, and how the kubelet checks on it. `/v1/health` answers as soon
//! as the server serves, also when a model backend is down and without a login, so a probe never
//! restarts a server for somebody else's fault.

use k8s_openapi::api::core::v1::{Container, ContainerPort, HTTPGetAction, Probe};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::{command, environment, resources, security, volumes};
use crate::objects::blueprint::Blueprint;
use crate::problem::Findings;

const HEALTH: &str = "/v1/health";

pub(super) fn container(blueprint: &Blueprint, findings: &mut Findings) -> Container {
    Container {
        name: blueprint.container_name.clone(),
        image: Some(blueprint.image.clone()),
        command: command::command(blueprint),
        args: command::arguments(blueprint),
        env: Some(environment::variables(blueprint, findings)),
        env_from: blueprint.overrides().env_from.clone(),
        ports: Some(vec![ContainerPort {
            container_port: blueprint.port(),
            protocol: Some("TCP".into()),
            ..Default::default()
        }]),
        startup_probe: Some(startup(blueprint)),
        readiness_probe: Some(readiness(blueprint)),
        liveness_probe: Some(liveness(blueprint)),
        resources: Some(resources::of_server(blueprint)),
        volume_mounts: Some(volumes::of_server(blueprint)),
        security_context: Some(security::of_container()),
        // Why it ended is then in the pod's status, and from there in the resource's.
        termination_message_policy: Some("FallbackToLogsOnError".into()),
        ..Default::default()
    }
}

/// Ten minutes to start in: a server takes 5 to 20 seconds, or minutes where it downloads an
/// embedding model first.
fn startup(blueprint: &Blueprint) -> Probe {
    Probe { period_seconds: Some(5), failure_threshold: Some(120), ..asking(blueprint, 5) }
}

/// Takes a server that does not answer out of the Service.
fn readiness(blueprint: &Blueprint) -> Probe {
    Probe { period_seconds: Some(10), failure_threshold: Some(3), ..asking(blueprint, 5) }
}

/// Restarts a server that hangs. Inline providers may keep it from answering for a while, so it
/// gets more than two minutes.
fn liveness(blueprint: &Blueprint) -> Probe {
    Probe { period_seconds: Some(20), failure_threshold: Some(8), ..asking(blueprint, 15) }
}

fn asking(blueprint: &Blueprint, timeout_seconds: i32) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(HEALTH.into()),
            port: IntOrString::Int(blueprint.port()),
            scheme: blueprint.server_tls().map(|_| "HTTPS".into()),
            ..Default::default()
        }),
        timeout_seconds: Some(timeout_seconds),
        ..Default::default()
    }
}
