//! v1alpha1, field for field as operator v0.9 serves it. Served, never stored: the conversion
//! webhook turns it into v1alpha2. Nothing is added to it and no bound is tightened, because
//! objects written for v0.9 must go on working.

use k8s_openapi::api::core::v1::{
    EnvVar, ResourceRequirements, TopologySpreadConstraint, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::v1alpha2::{DistributionConfig, Phase, VersionInfo};

/// The desired state of a Llama Stack server.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "llamastack.io",
    version = "v1alpha1",
    kind = "LlamaStackDistribution",
    plural = "llamastackdistributions",
    shortname = "llsd",
    namespaced,
    schema = "disabled",
    status = "LlamaStackDistributionStatus",
    derive = "PartialEq"
)]
pub struct LlamaStackDistributionSpec {
    /// How many pods run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = 1))]
    pub replicas: Option<i32>,
    /// The server.
    pub server: ServerSpec,
    /// How the server is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkSpec>,
}

/// The server: its distribution, container, storage and scaling.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerSpec {
    /// Which distribution runs.
    pub distribution: DistributionType,
    /// The server's container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container_spec: Option<ContainerSpec>,
    /// How many worker processes serve in each pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub workers: Option<i32>,
    /// Settings of the pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_overrides: Option<PodOverrides>,
    /// How many pods a drain may take away at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_disruption_budget: Option<PodDisruptionBudgetSpec>,
    /// How the pods are spread over nodes and zones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology_spread_constraints: Option<Vec<TopologySpreadConstraint>>,
    /// Scales the pods by their load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<AutoscalingSpec>,
    /// The volume that holds the server's state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<StorageSpec>,
    /// A complete configuration in a ConfigMap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_config: Option<UserConfigSpec>,
    /// Certificate authorities that the server trusts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_config: Option<TlsConfig>,
}

/// A known distribution by name, or an image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = json!([{
    "rule": "!(has(self.name) && has(self.image))",
    "message": "Only one of name or image can be specified",
}])))]
pub struct DistributionType {
    /// A distribution that the operator knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A container image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

/// The server's container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContainerSpec {
    /// The container's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "llama-stack"))]
    pub name: Option<String>,
    /// The port that the server listens on; 8321 if unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i32>,
    /// CPU and memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceRequirements>,
    /// Environment variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<Vec<EnvVar>>,
    /// The command instead of the operator's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// The arguments instead of the operator's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
}

/// Settings of the pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodOverrides {
    /// The ServiceAccount of the pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,
    /// How long a pod may take to stop, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub termination_grace_period_seconds: Option<i64>,
    /// Further volumes of the pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volumes: Option<Vec<Volume>>,
    /// Further mounts of the container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume_mounts: Option<Vec<VolumeMount>>,
}

/// A PodDisruptionBudget.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodDisruptionBudgetSpec {
    /// The pods that must stay, as a number or a percentage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_available: Option<IntOrString>,
    /// The pods that may go, as a number or a percentage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
}

/// A HorizontalPodAutoscaler.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutoscalingSpec {
    /// The fewest pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_replicas: Option<i32>,
    /// The most pods.
    pub max_replicas: i32,
    /// The CPU use to aim for, in percent of the request.
    #[serde(rename = "targetCPUUtilizationPercentage", skip_serializing_if = "Option::is_none")]
    pub target_cpu_utilization_percentage: Option<i32>,
    /// The memory use to aim for, in percent of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_memory_utilization_percentage: Option<i32>,
}

/// A PersistentVolumeClaim for the server's state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StorageSpec {
    /// The volume's size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Quantity>,
    /// Where the volume is mounted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mount_path: Option<String>,
}

/// A ConfigMap that holds the server's whole configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserConfigSpec {
    /// The ConfigMap's name.
    pub config_map_name: String,
    /// The ConfigMap's namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map_namespace: Option<String>,
}

/// Trust for what the server connects to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TlsConfig {
    /// Certificate authorities that the server trusts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<CaBundleConfig>,
}

/// A ConfigMap with certificates of certificate authorities.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CaBundleConfig {
    /// The ConfigMap's name.
    pub config_map_name: String,
    /// The ConfigMap's namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map_namespace: Option<String>,
    /// The keys to read; `ca-bundle.crt` if unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 50))]
    pub config_map_keys: Option<Vec<String>>,
}

/// How the server is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkSpec {
    /// Whether an Ingress is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = false))]
    pub expose_route: Option<bool>,
    /// Who may connect to the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_from: Option<AllowedFromSpec>,
}

/// Sources of traffic that the NetworkPolicy lets in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AllowedFromSpec {
    /// Namespaces by name; `*` stands for all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<Vec<String>>,
    /// Namespaces by a label key that they carry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<String>>,
}

/// The observed state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LlamaStackDistributionStatus {
    /// The state in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Versions of the operator and of the running server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<VersionInfo>,
    /// What the running server says of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution_config: Option<DistributionConfig>,
    /// The state in detail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
    /// How many pods are ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_replicas: Option<i32>,
    /// Where the server is reached inside the cluster.
    #[serde(rename = "serviceURL", skip_serializing_if = "Option::is_none")]
    pub service_url: Option<String>,
    /// Where the server is reached from outside; empty while that is not known yet.
    #[serde(rename = "routeURL", skip_serializing_if = "Option::is_none")]
    pub route_url: Option<String>,
}
