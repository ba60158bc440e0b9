//! The PodDisruptionBudget: what the resource asks for, else one pod at a time where several can run.

use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use llsd_api::rules::ONE_DISRUPTION_BOUND;

use super::blueprint::Blueprint;
use super::kind::ObjectKind;
use super::{labels, names};
use crate::problems::{FieldPath, Findings, Reason};

pub(super) fn disruption_budget(
    blueprint: &Blueprint,
    findings: &mut Findings,
) -> Option<PodDisruptionBudget> {
    let given = blueprint.workload().pod_disruption_budget.clone();
    if given.is_none() && !blueprint.runs_several() {
        return None;
    }
    let given = given.unwrap_or_default();
    if given.min_available.is_some() && given.max_unavailable.is_some() {
        // v1alpha1 lets both through.
        findings.problem(
            &FieldPath::spec().key("workload").key("podDisruptionBudget"),
            Reason::Conflict,
            ONE_DISRUPTION_BOUND.message,
            ONE_DISRUPTION_BOUND.remedy,
        );
    }
    let one_at_a_time = given.min_available.is_none().then_some(IntOrString::Int(1));
    Some(PodDisruptionBudget {
        metadata: blueprint.owned(names::of(ObjectKind::DisruptionBudget, blueprint.name)),
        spec: Some(PodDisruptionBudgetSpec {
            min_available: given.min_available,
            max_unavailable: given.max_unavailable.or(one_at_a_time),
            selector: Some(labels::selecting_pods(blueprint.name)),
            // A pod that does not serve must not keep a node from being drained.
            unhealthy_pod_eviction_policy: Some("AlwaysAllow".into()),
        }),
        ..Default::default()
    })
}
