//! The Deployment that runs the server.

use k8s_openapi::api::apps::v1::{
    Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::blueprint::Blueprint;
use super::{labels, names, pod};
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
            // An autoscaler owns the number; two owners would pull it back and forth.
            replicas: blueprint.autoscaling().is_none().then(|| blueprint.replicas()),
            selector: labels::selecting_pods(blueprint.name),
            strategy: Some(strategy(blueprint)),
            template: pod::template(blueprint, findings),
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// With a volume the old pod goes first: it holds the volume, and the files on it are locked.
///
/// Without one, Kubernetes' defaults are spelt out. It would set them anyway, as fields of nobody,
/// and then refuse them beside `Recreate` when the server is given a volume; fields of ours go
/// when we no longer apply them.
fn strategy(blueprint: &Blueprint) -> DeploymentStrategy {
    if blueprint.workload().storage.is_some() {
        return DeploymentStrategy { type_: Some("Recreate".into()), rolling_update: None };
    }
    let quarter = || Some(IntOrString::String("25%".into()));
    DeploymentStrategy {
        type_: Some("RollingUpdate".into()),
        rolling_update: Some(RollingUpdateDeployment {
            max_surge: quarter(),
            max_unavailable: quarter(),
        }),
    }
}
