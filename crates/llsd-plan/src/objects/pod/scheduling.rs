//! How the pods are spread over the cluster: as the resource says, else as v0.9 does it.

use k8s_openapi::api::core::v1::{
    Affinity, PodAffinityTerm, PodAntiAffinity, TopologySpreadConstraint, WeightedPodAffinityTerm,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::objects::blueprint::Blueprint;
use crate::objects::labels;

const HOSTNAME: &str = "kubernetes.io/hostname";
const DOMAINS: [&str; 3] =
    ["topology.kubernetes.io/region", "topology.kubernetes.io/zone", HOSTNAME];

pub(super) fn spread(blueprint: &Blueprint) -> Option<Vec<TopologySpreadConstraint>> {
    let given = blueprint.workload().topology_spread_constraints.as_ref();
    if let Some(given) = given.filter(|given| !given.is_empty()) {
        return Some(given.clone());
    }
    blueprint.runs_several().then(|| {
        let constraint = |domain: &str| TopologySpreadConstraint {
            max_skew: 1,
            topology_key: domain.into(),
            when_unsatisfiable: "ScheduleAnyway".into(),
            label_selector: Some(siblings(blueprint)),
            ..Default::default()
        };
        DOMAINS.map(constraint).into()
    })
}

/// The user's affinity, each of its three parts by itself.
pub(super) fn affinity(blueprint: &Blueprint) -> Option<Affinity> {
    let given = blueprint.overrides().affinity.clone().unwrap_or_default();
    let merged = Affinity {
        pod_anti_affinity: given.pod_anti_affinity.or_else(|| apart(blueprint)),
        ..given
    };
    Some(merged).filter(|merged| *merged != Affinity::default())
}

/// Pods of one server on different nodes, where that can be.
fn apart(blueprint: &Blueprint) -> Option<PodAntiAffinity> {
    blueprint.runs_several().then(|| PodAntiAffinity {
        preferred_during_scheduling_ignored_during_execution: Some(vec![WeightedPodAffinityTerm {
            weight: 100,
            pod_affinity_term: PodAffinityTerm {
                topology_key: HOSTNAME.into(),
                label_selector: Some(siblings(blueprint)),
                ..Default::default()
            },
        }]),
        ..Default::default()
    })
}

fn siblings(blueprint: &Blueprint) -> LabelSelector {
    LabelSelector {
        match_labels: Some([(labels::INSTANCE.into(), blueprint.name.into())].into()),
        ..Default::default()
    }
}
