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
use serde_with_macros::skip_serializing_none;

use crate::v1alpha2::{DistributionConfig, Phase, VersionInfo};

/// The desired state of a Llama Stack server.
#[skip_serializing_none]
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
    #[schemars(extend("default" = 1))]
    pub replicas: Option<i32>,
    /// The server.
    pub server: ServerSpec,
    /// How the server is reached.
    pub network: Option<NetworkSpec>,
}

/// The server: its distribution, container, storage and scaling.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerSpec {
    /// Which distribution runs.
    pub distribution: DistributionType,
    /// The server's container.
    pub container_spec: Option<ContainerSpec>,
    /// How many worker processes serve in each pod.
    #[schemars(range(min = 1))]
    pub workers: Option<i32>,
    /// Settings of the pod.
    pub pod_overrides: Option<PodOverrides>,
    /// How many pods a drain may take away at once.
    pub pod_disruption_budget: Option<PodDisruptionBudgetSpec>,
    /// How the pods are spread over nodes and zones.
    pub topology_spread_constraints: Option<Vec<TopologySpreadConstraint>>,
    /// Scales the pods by their load.
    pub autoscaling: Option<AutoscalingSpec>,
    /// The volume that holds the server's state.
    pub storage: Option<StorageSpec>,
    /// A complete configuration in a ConfigMap.
    pub user_config: Option<UserConfigSpec>,
    /// Certificate authorities that the server trusts.
    pub tls_config: Option<TlsConfig>,
}

/// A known distribution by name, or an image.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = json!([{
    "rule": "!(has(self.name) && has(self.image))",
    "message": "Only one of name or image can be specified",
}])))]
pub struct DistributionType {
    /// A distribution that the operator knows.
    pub name: Option<String>,
    /// A container image.
    pub image: Option<String>,
}

/// The server's container.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContainerSpec {
    /// The container's name.
    #[schemars(extend("default" = "llama-stack"))]
    pub name: Option<String>,
    /// The port that the server listens on; 8321 if unset.
    pub port: Option<i32>,
    /// CPU and memory.
    pub resources: Option<ResourceRequirements>,
    /// Environment variables.
    pub env: Option<Vec<EnvVar>>,
    /// The command instead of the operator's.
    pub command: Option<Vec<String>>,
    /// The arguments instead of the operator's.
    pub args: Option<Vec<String>>,
}

/// Settings of the pod.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodOverrides {
    /// The ServiceAccount of the pods.
    pub service_account_name: Option<String>,
    /// How long a pod may take to stop, in seconds.
    pub termination_grace_period_seconds: Option<i64>,
    /// Further volumes of the pod.
    pub volumes: Option<Vec<Volume>>,
    /// Further mounts of the container.
    pub volume_mounts: Option<Vec<VolumeMount>>,
}

/// A PodDisruptionBudget.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodDisruptionBudgetSpec {
    /// The pods that must stay, as a number or a percentage.
    pub min_available: Option<IntOrString>,
    /// The pods that may go, as a number or a percentage.
    pub max_unavailable: Option<IntOrString>,
}

/// A HorizontalPodAutoscaler.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutoscalingSpec {
    /// The fewest pods.
    pub min_replicas: Option<i32>,
    /// The most pods.
    pub max_replicas: i32,
    /// The CPU use to aim for, in percent of the request.
    #[serde(rename = "targetCPUUtilizationPercentage")]
    pub target_cpu_utilization_percentage: Option<i32>,
    /// The memory use to aim for, in percent of the request.
    pub target_memory_utilization_percentage: Option<i32>,
}

/// A PersistentVolumeClaim for the server's state.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StorageSpec {
    /// The volume's size.
    pub size: Option<Quantity>,
    /// Where the volume is mounted.
    pub mount_path: Option<String>,
}

/// A ConfigMap that holds the server's whole configuration.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserConfigSpec {
    /// The ConfigMap's name.
    pub config_map_name: String,
    /// The ConfigMap's namespace.
    pub config_map_namespace: Option<String>,
}

/// Trust for what the server connects to.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TlsConfig {
    /// Certificate authorities that the server trusts.
    pub ca_bundle: Option<CaBundleConfig>,
}

/// A ConfigMap with certificates of certificate authorities.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CaBundleConfig {
    /// The ConfigMap's name.
    pub config_map_name: String,
    /// The ConfigMap's namespace.
    pub config_map_namespace: Option<String>,
    /// The keys to read; `ca-bundle.crt` if unset.
    #[schemars(length(max = 50))]
    pub config_map_keys: Option<Vec<String>>,
}

/// How the server is reached.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkSpec {
    /// Whether an Ingress is made.
    #[schemars(extend("default" = false))]
    pub expose_route: Option<bool>,
    /// Who may connect to the server.
    pub allowed_from: Option<AllowedFromSpec>,
}

/// Sources of traffic that the NetworkPolicy lets in.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AllowedFromSpec {
    /// Namespaces by name; `*` stands for all of them.
    pub namespaces: Option<Vec<String>>,
    /// Namespaces by a label key that they carry.
    pub labels: Option<Vec<String>>,
}

/// The observed state.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LlamaStackDistributionStatus {
    /// The state in one word.
    pub phase: Option<Phase>,
    /// Versions of the operator and of the running server.
    pub version: Option<VersionInfo>,
    /// What the running server says of itself.
    pub distribution_config: Option<DistributionConfig>,
    /// The state in detail.
    pub conditions: Option<Vec<Condition>>,
    /// How many pods are ready.
    pub available_replicas: Option<i32>,
    /// Where the server is reached inside the cluster.
    #[serde(rename = "serviceURL")]
    pub service_url: Option<String>,
    /// Where the server is reached from outside; empty while that is not known yet.
    #[serde(rename = "routeURL")]
    pub route_url: Option<String>,
}
