//! The Deployment that runs the server.

use k8s_openapi::api::apps::v1::{
    Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment,
};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::blueprint::Blueprint;
use super::{labels, names, pod};
use crate::fingerprint;
use crate::problem::Findings;

/// How many earlier states are kept unless the resource says otherwise.
const HISTORY_LIMIT: i32 = 5;

pub(super) fn deployment(blueprint: &Blueprint, findings: &mut Findings) -> Deployment {
    let mut metadata = blueprint.owned(names::deployment(blueprint.name));
    let mut annotations = pod::hashes(blueprint);
    let template = pod::template(blueprint, findings);
    let template_hash = blueprint.inputs.as_ref().map(|_| hash(&template));
    let records = [
        (labels::PLANNED_FOR, blueprint.planned_for.clone()),
        (labels::INPUTS, blueprint.inputs.clone()),
        (labels::TEMPLATE_HASH, template_hash),
    ];
    annotations
        .extend(records.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    metadata.annotations = Some(annotations).filter(|annotations| !annotations.is_empty());
    Deployment {
        metadata,
        spec: Some(DeploymentSpec {
            // An autoscaler owns the number; two owners would pull it back and forth.
            replicas: blueprint.autoscaling().is_none().then(|| blueprint.replicas()),
            selector: labels::selecting_pods(blueprint.name),
            strategy: Some(strategy(blueprint)),
            template,
            revision_history_limit: Some(
                blueprint.workload().history_limit.unwrap_or(HISTORY_LIMIT),
            ),
            ..Default::default()
        }),
        ..Default::default()
    }
}

fn hash(template: &PodTemplateSpec) -> String {
    let template = serde_json::to_value(template).unwrap_or_default();
    fingerprint::of_template(&template).to_string()
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
