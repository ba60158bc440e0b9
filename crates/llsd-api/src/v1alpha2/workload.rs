//! `spec.workload`: how the server runs in the cluster.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, EnvFromSource, EnvVar, LocalObjectReference, PodSecurityContext,
    ResourceRequirements, Toleration, TopologySpreadConstraint, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{
    MAX_NOT_BELOW_MIN, ONE_CPU_TARGET, ONE_DISRUPTION_BOUND, ONE_MEMORY_TARGET, validations,
};

/// Replicas, resources, volume, scaling and pod settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadSpec {
    /// How many pods run. Default: 1. With `autoscaling` this is the lower bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub replicas: Option<i32>,
    /// How many worker processes serve in each pod. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub workers: Option<i32>,
    /// CPU and memory of the server's container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceRequirements>,
    /// Scales the pods by their load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<AutoscalingSpec>,
    /// The volume that holds the server's state. Without it the state is lost with the pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<VolumeSpec>,
    /// How many pods a drain may take away at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_disruption_budget: Option<PodDisruptionBudgetSpec>,
    /// How the pods are spread over nodes and zones.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["topologyKey", "whenUnsatisfiable"]
    ))]
    pub topology_spread_constraints: Option<Vec<TopologySpreadConstraint>>,
    /// Settings of the pod and its container that win over the operator's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overrides: Option<OverridesSpec>,
    /// What becomes of a change whose pods do not become available. `Auto` returns to the last state
    /// that was. Default: what the operator's configuration says, or `Auto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollback: Option<RollbackPolicy>,
    /// How many earlier states are kept to return to. Default: 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub history_limit: Option<i32>,
}

/// What becomes of a change whose pods do not become available.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RollbackPolicy {
    #[default]
    Auto,
    Off,
}

/// A HorizontalPodAutoscaler.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = validations(&[MAX_NOT_BELOW_MIN, ONE_CPU_TARGET, ONE_MEMORY_TARGET])))]
pub struct AutoscalingSpec {
    /// The fewest pods. Default: `replicas`, or 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub min_replicas: Option<i32>,
    /// The most pods.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub max_replicas: i32,
    /// The CPU use to aim for, in percent of the request. Default: 80 where no target is given.
    #[serde(rename = "targetCPUUtilization", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub target_cpu_utilization: Option<i32>,
    /// Another name of `targetCPUUtilization`.
    #[serde(rename = "targetCPUUtilizationPercentage", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub target_cpu_utilization_percentage: Option<i32>,
    /// The memory use to aim for, in percent of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub target_memory_utilization: Option<i32>,
    /// Another name of `targetMemoryUtilization`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub target_memory_utilization_percentage: Option<i32>,
}

/// A PersistentVolumeClaim for the server's state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VolumeSpec {
    /// The volume's size. Default: 10Gi. It can grow, not shrink.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Quantity>,
    /// Where the volume is mounted. Default: `/.llama`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024), regex(pattern = "^(/.+)?$"))]
    pub mount_path: Option<String>,
    /// What becomes of the volume when the resource is deleted. `Retain` keeps it, and a new
    /// resource of the same name takes it up again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "Retain"))]
    pub deletion_policy: Option<DeletionPolicy>,
}

/// What becomes of the volume when the resource is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DeletionPolicy {
    #[default]
    Retain,
    Delete,
}

/// A PodDisruptionBudget. Exactly one of its two bounds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = validations(&[ONE_DISRUPTION_BOUND])))]
pub struct PodDisruptionBudgetSpec {
    /// The pods that must stay, as a number or a percentage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_available: Option<IntOrString>,
    /// The pods that may go, as a number or a percentage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
}

/// Settings of the pod and its container that win over the operator's own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OverridesSpec {
    /// The ServiceAccount of the pods. Default: one of the operator's making.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub service_account_name: Option<String>,
    /// Environment variables of the server; they win over the operator's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub env: Option<Vec<EnvVar>>,
    /// ConfigMaps and Secrets whose keys become environment variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env_from: Option<Vec<EnvFromSource>>,
    /// The container's command instead of the operator's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// The container's arguments instead of the operator's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// Further volumes of the pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub volumes: Option<Vec<Volume>>,
    /// Further mounts of the container.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["mountPath"]))]
    pub volume_mounts: Option<Vec<VolumeMount>>,
    /// How long a pod may take to stop, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub termination_grace_period_seconds: Option<i64>,
    /// Secrets with which images are pulled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub image_pull_secrets: Option<Vec<LocalObjectReference>>,
    /// Labels that a node must carry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<BTreeMap<String, String>>,
    /// Taints of nodes that the pods tolerate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerations: Option<Vec<Toleration>>,
    /// Affinity of the pods to nodes and to other pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Affinity>,
    /// Further labels of the pods. Those of the Deployment's selector cannot be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_labels: Option<BTreeMap<String, String>>,
    /// Further annotations of the pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_annotations: Option<BTreeMap<String, String>>,
    /// The pods' security context, field by field over the operator's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_context: Option<PodSecurityContext>,
}
