//! The Deployment that runs the server.

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::PodTemplateSpec;

use super::blueprint::Blueprint;
use super::{labels, names, pod, replacement};
use crate::fingerprint;
use crate::problems::Findings;

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
            // An autoscaler owns the number, ours or somebody's; two owners would pull it back and forth.
            replicas: blueprint.workload().replicas.filter(|_| blueprint.autoscaling().is_none()),
            selector: labels::selecting_pods(blueprint.name),
            strategy: Some(replacement::strategy(blueprint)),
            min_ready_seconds: replacement::min_ready_seconds(blueprint),
            progress_deadline_seconds: Some(replacement::progress_deadline_seconds(
                blueprint,
                pod::startup_seconds(blueprint),
            )),
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
