//! The Deployment that runs the server.

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};

use super::blueprint::Blueprint;
use super::{labels, names, pod, replacement};
use crate::problem::Findings;

pub(super) fn deployment(blueprint: &Blueprint, findings: &mut Findings) -> Deployment {
    let mut metadata = blueprint.owned(names::deployment(blueprint.name));
    let mut annotations = pod::hashes(blueprint);
    let planned_for = blueprint.planned_for.iter().cloned();
    annotations.extend(planned_for.map(|state| (labels::PLANNED_FOR.to_owned(), state)));
    metadata.annotations = Some(annotations).filter(|annotations| !annotations.is_empty());
    Deployment {
        metadata,
        spec: Some(DeploymentSpec {
            // An autoscaler owns the number, ours or somebody's; two owners would pull it back and forth.
            replicas: blueprint.workload().replicas.filter(|_| blueprint.autoscaling().is_none()),
            selector: labels::selecting_pods(blueprint.name),
            strategy: Some(replacement::strategy(blueprint)),
            min_ready_seconds: replacement::min_ready_seconds(blueprint),
            progress_deadline_seconds: Some(replacement::progress_deadline_seconds(
                blueprint,
                pod::startup_seconds(blueprint),
            )),
            template: pod::template(blueprint, findings),
            ..Default::default()
        }),
        ..Default::default()
    }
}
