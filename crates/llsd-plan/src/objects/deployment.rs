//! The Deployment that runs the server.

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy};

use super::{Blueprint, labels, names, owner, pod};
use crate::problem::Findings;

pub(super) fn deployment(blueprint: &Blueprint, findings: &mut Findings) -> Deployment {
    let mut metadata = owner::owned(blueprint, names::deployment(blueprint.name));
    metadata.annotations = Some(pod::hashes(blueprint)).filter(|hashes| !hashes.is_empty());
    Deployment {
        metadata,
        spec: Some(DeploymentSpec {
            // An autoscaler owns the number; two owners would pull it back and forth.
            replicas: blueprint.autoscaling().is_none().then(|| blueprint.replicas()),
            selector: labels::selecting_pods(blueprint.name),
            strategy: strategy(blueprint),
            template: pod::template(blueprint, findings),
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// With a volume the old pod goes first: it holds the volume, and the files on it are locked.
fn strategy(blueprint: &Blueprint) -> Option<DeploymentStrategy> {
    blueprint
        .workload()
        .storage
        .as_ref()
        .map(|_| DeploymentStrategy { type_: Some("Recreate".into()), rolling_update: None })
}
