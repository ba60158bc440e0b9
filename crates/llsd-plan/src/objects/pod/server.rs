//! The container that runs the server.

use k8s_openapi::api::core::v1::{Container, ContainerPort};

use super::{command, environment, probes, resources, security, volumes};
use crate::objects::blueprint::Blueprint;
use crate::objects::replacement;
use crate::problems::Findings;

fn ports(blueprint: &Blueprint) -> Vec<ContainerPort> {
    let port = |container_port| ContainerPort {
        container_port,
        protocol: Some("TCP".into()),
        ..Default::default()
    };
    [blueprint.port()].into_iter().chain(blueprint.metrics_port()).map(port).collect()
}

pub(super) fn container(blueprint: &Blueprint, findings: &mut Findings) -> Container {
    Container {
        name: blueprint.container_name.clone(),
        image: Some(blueprint.image.clone()),
        command: command::command(blueprint),
        args: command::arguments(blueprint),
        env: Some(environment::variables(blueprint, findings)),
        env_from: blueprint.overrides().env_from.clone(),
        ports: Some(ports(blueprint)),
        startup_probe: Some(probes::startup(blueprint)),
        readiness_probe: Some(probes::readiness(blueprint)),
        liveness_probe: Some(probes::liveness(blueprint)),
        lifecycle: replacement::lifecycle(blueprint),
        resources: Some(resources::of_server(blueprint)),
        volume_mounts: Some(volumes::of_server(blueprint)),
        security_context: Some(security::of_container()),
        // Why it ended is then in the pod's status, and from there in the resource's.
        termination_message_policy: Some("FallbackToLogsOnError".into()),
        ..Default::default()
    }
}
