//! `spec.workload`: how the server runs in the cluster.

use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscalerBehavior, MetricSpec};
use k8s_openapi::api::core::v1::{ResourceRequirements, TopologySpreadConstraint};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use super::overrides::OverridesSpec;
use crate::patterns::ABSOLUTE_PATH;
use crate::rules::{
    EXISTING_CLAIM_EXCLUDES, MAX_NOT_BELOW_MIN, ONE_CPU_TARGET, ONE_DISRUPTION_BOUND,
    ONE_MEMORY_TARGET, validations,
};

/// Replicas, resources, volume, scaling and pod settings.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadSpec {
    /// How many pods run. If unset, the operator sets 1 once and then leaves the number alone: an autoscaler of
    /// your own on the Deployment may change it. With `autoscaling` this is the lower bound.
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub replicas: Option<i32>,
    /// How many worker processes serve in each pod. Default: 1.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub workers: Option<i32>,
    /// CPU and memory of the server's container.
    pub resources: Option<ResourceRequirements>,
    /// Scales the pods by their load.
    pub autoscaling: Option<AutoscalingSpec>,
    /// The volume that holds the server's state. Without it the state is lost with the pod.
    pub storage: Option<VolumeSpec>,
    /// How many pods a drain may take away at once.
    pub pod_disruption_budget: Option<PodDisruptionBudgetSpec>,
    /// How the pods are spread over nodes and zones.
    #[schemars(extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["topologyKey", "whenUnsatisfiable"]
    ))]
    pub topology_spread_constraints: Option<Vec<TopologySpreadConstraint>>,
    /// Settings of the pod and its container that win over the operator's own.
    pub overrides: Option<OverridesSpec>,
    /// What the operator does if the pods of a change do not become available. `Auto` returns to the last state
    /// that was. Default: what the operator's configuration says, or `Auto`.
    pub rollback: Option<RollbackPolicy>,
    /// Whether a change of a running server is checked in the new image, by a Job, before a pod is
    /// replaced. Default: what the operator's configuration says, or `Auto`.
    pub preflight: Option<PreflightPolicy>,
    /// How many earlier states are kept to return to. Default: 5.
    #[schemars(range(min = 1, max = 100))]
    pub history_limit: Option<i32>,
}

/// What the operator does if the pods of a change do not become available.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RollbackPolicy {
    #[default]
    Auto,
    Off,
}

/// Whether a change of a running server is judged before a pod is replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PreflightPolicy {
    #[default]
    Auto,
    Off,
}

/// A HorizontalPodAutoscaler.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = validations(&[MAX_NOT_BELOW_MIN, ONE_CPU_TARGET, ONE_MEMORY_TARGET])))]
pub struct AutoscalingSpec {
    /// The fewest pods. Default: `replicas`, or 1.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub min_replicas: Option<i32>,
    /// The most pods.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub max_replicas: i32,
    /// The CPU use to aim for, in percent of the request. Default: 80 where no target is given.
    #[serde(rename = "targetCPUUtilization")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub target_cpu_utilization: Option<i32>,
    /// Another name of `targetCPUUtilization`.
    #[serde(rename = "targetCPUUtilizationPercentage")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub target_cpu_utilization_percentage: Option<i32>,
    /// The memory use to aim for, in percent of the request.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub target_memory_utilization: Option<i32>,
    /// Another name of `targetMemoryUtilization`.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub target_memory_utilization_percentage: Option<i32>,
    /// Further metrics to scale by, as a HorizontalPodAutoscaler has them. With them and without a target above, CPU utilization is ignored.
    #[schemars(length(max = 32))]
    pub metrics: Option<Vec<MetricSpec>>,
    /// How fast it scales up and down, as a HorizontalPodAutoscaler has it.
    pub behavior: Option<HorizontalPodAutoscalerBehavior>,
}

/// A PersistentVolumeClaim for the server's state.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = validations(&EXISTING_CLAIM_EXCLUDES.map(|(_, rule)| rule))))]
pub struct VolumeSpec {
    /// A claim of your own, by name, in the resource's namespace. The operator neither changes nor
    /// deletes it.
    #[schemars(length(min = 1, max = 253))]
    pub existing_claim: Option<String>,
    /// The volume's size. Default: 10Gi. It can grow, where the storage class allows it, not shrink.
    pub size: Option<Quantity>,
    /// Where the volume is mounted. Default: `/.llama`.
    #[schemars(length(max = 1024), regex(pattern = ABSOLUTE_PATH))]
    pub mount_path: Option<String>,
    /// The storage class. Default: the cluster's. It cannot be changed once the volume is there.
    #[schemars(length(max = 253))]
    pub storage_class_name: Option<String>,
    /// How the volume can be mounted. Default: `ReadWriteOnce`. It cannot be changed once the volume
    /// is there.
    #[schemars(length(min = 1, max = 4), extend("x-kubernetes-list-type" = "set"))]
    pub access_modes: Option<Vec<AccessMode>>,
    /// What happens to the volume when the resource is deleted. `Retain` keeps it, and a new
    /// resource of the same name takes it up again.
    #[schemars(extend("default" = "Retain"))]
    pub deletion_policy: Option<DeletionPolicy>,
}

/// How a volume can be mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AccessMode {
    ReadWriteOnce,
    ReadOnlyMany,
    ReadWriteMany,
    ReadWriteOncePod,
}

impl AccessMode {
    /// As a claim has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadWriteOnce => "ReadWriteOnce",
            Self::ReadOnlyMany => "ReadOnlyMany",
            Self::ReadWriteMany => "ReadWriteMany",
            Self::ReadWriteOncePod => "ReadWriteOncePod",
        }
    }
}

/// What happens to the volume when the resource is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DeletionPolicy {
    #[default]
    Retain,
    Delete,
}

/// A PodDisruptionBudget. Exactly one of its two bounds.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = validations(&[ONE_DISRUPTION_BOUND])))]
pub struct PodDisruptionBudgetSpec {
    /// The pods that must stay, as a number or a percentage.
    pub min_available: Option<IntOrString>,
    /// The pods that may go, as a number or a percentage.
    pub max_unavailable: Option<IntOrString>,
}
