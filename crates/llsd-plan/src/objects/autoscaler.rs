//! The HorizontalPodAutoscaler of `workload.autoscaling`.

use k8s_openapi::api::autoscaling::v2::{
    CrossVersionObjectReference, HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec, MetricSpec,
    MetricTarget, ResourceMetricSource,
};
use llsd_api::v1alpha2::AutoscalingSpec;

use super::blueprint::Blueprint;
use super::kind::ObjectKind;
use super::names;
use crate::problems::{FieldPath, Findings, Reason};

/// Percent of the requested CPU to aim for where the resource names no target.
const DEFAULT_CPU: i32 = 80;

pub(super) fn autoscaler(
    blueprint: &Blueprint,
    findings: &mut Findings,
) -> Option<HorizontalPodAutoscaler> {
    let Some(autoscaling) = blueprint.autoscaling() else {
        if blueprint.workload().autoscaling.is_some() {
            findings.warning(
                &FieldPath::spec().key("workload").key("autoscaling").key("maxReplicas"),
                Reason::Ignored,
                "nothing is scaled without a number of at least 1",
                "set maxReplicas, or remove autoscaling",
            );
        }
        return None;
    };
    Some(HorizontalPodAutoscaler {
        metadata: blueprint.owned(names::of(ObjectKind::Autoscaler, blueprint.name)),
        spec: Some(HorizontalPodAutoscalerSpec {
            scale_target_ref: CrossVersionObjectReference {
                api_version: Some("apps/v1".into()),
                kind: "Deployment".into(),
                name: names::deployment(blueprint.name),
            },
            min_replicas: Some(blueprint.fewest_scaled(autoscaling)),
            max_replicas: autoscaling.max_replicas,
            metrics: Some(metrics(autoscaling)),
            behavior: autoscaling.behavior.clone(),
        }),
        ..Default::default()
    })
}

fn metrics(autoscaling: &AutoscalingSpec) -> Vec<MetricSpec> {
    let cpu = autoscaling.target_cpu_utilization.or(autoscaling.target_cpu_utilization_percentage);
    let memory =
        autoscaling.target_memory_utilization.or(autoscaling.target_memory_utilization_percentage);
    let further = autoscaling.metrics.as_deref().unwrap_or_default();
    let cpu = cpu.or((memory.is_none() && further.is_empty()).then_some(DEFAULT_CPU));
    [("cpu", cpu), ("memory", memory)]
        .into_iter()
        .filter_map(|(name, target)| Some(utilization(name, target?)))
        .chain(further.iter().cloned())
        .collect()
}

fn utilization(name: &str, percent: i32) -> MetricSpec {
    MetricSpec {
        type_: "Resource".into(),
        resource: Some(ResourceMetricSource {
            name: name.into(),
            target: MetricTarget {
                type_: "Utilization".into(),
                average_utilization: Some(percent),
                ..Default::default()
            },
        }),
        ..Default::default()
    }
}
