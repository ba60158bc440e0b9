//! v1alpha2, the stored version: a resource from which the operator generates the server's
//! configuration.

mod access;
mod authentication;
mod distribution;
mod external_providers;
mod monitoring;
mod networking;
mod overrides;
mod provider_apis;
mod providers;
mod resources;
mod status;
mod storage;
mod workload;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

pub use access::{
    AccessRule, AccessSpec, Action, Paths, RouteRule, Scope, TenancyMode, TenancySpec,
};
pub use authentication::{
    AccessCaBundle, Attributes, Authentication, CustomSpec, GatewayHeadersSpec, GitHubSpec,
    IntrospectionSpec, KubernetesSpec, OidcSpec,
};
pub use distribution::DistributionSpec;
pub use external_providers::{ExternalProvider, ExternalProvidersSpec, PullPolicy};
pub use monitoring::{MetricsSpec, MonitoringSpec, OtlpSpec, ServiceMonitorSpec};
pub use networking::{AllowedFromSpec, AllowedPods, CaBundleSpec, NetworkingSpec, TlsSpec};
pub use overrides::{OverridesSpec, ProbesSpec, StrategyType};
pub use provider_apis::PROVIDER_APIS;
pub use providers::{ProviderEntry, ProvidersSpec};
pub use resources::{McpEndpoint, ModelEntry, ModelType, ResourcesSpec, ShieldEntry, ToolEntry};
pub use status::{
    ConfigGenerationStatus, DistributionConfig, ExternalPhase, ExternalProviderStatus,
    LlamaStackDistributionStatus, Phase, PreflightProblem, PreflightStatus, PreflightVerdict,
    ProviderHealth, ProviderStatus, ResolvedDistribution, VersionInfo,
};
pub use storage::{KvStorageSpec, KvType, SqlStorageSpec, SqlType, StateStorageSpec};
pub use workload::{
    AccessMode, AutoscalingSpec, DeletionPolicy, PodDisruptionBudgetSpec, PreflightPolicy,
    RollbackPolicy, VolumeSpec, WorkloadSpec,
};

use crate::rules::{
    self, ACCESS_EXCLUDES_ARGS, ACCESS_EXCLUDES_COMMAND, METRICS_ONE_WORKER,
    METRICS_PORT_OF_ITS_OWN, OVERRIDE_EXCLUDES, Rule,
};

/// What the server should be: which distribution, with which providers, models and storage, and
/// how it runs in the cluster.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "llamastack.io",
    version = "v1alpha2",
    kind = "LlamaStackDistribution",
    plural = "llamastackdistributions",
    shortname = "llsd",
    namespaced,
    schema = "disabled",
    status = "LlamaStackDistributionStatus",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = spec_rules()))]
pub struct LlamaStackDistributionSpec {
    /// Which Llama Stack distribution runs: a known name, or an image of your own.
    pub distribution: DistributionSpec,
    /// The providers of each API, laid over those that the distribution brings. A provider with
    /// the id of one of the distribution's takes its place; the others stay.
    pub providers: Option<ProvidersSpec>,
    /// Models, tools and shields that are registered when the server starts.
    pub resources: Option<ResourcesSpec>,
    /// Where the server keeps its state. Without it the distribution's own storage stays.
    pub storage: Option<StateStorageSpec>,
    /// Names of APIs to switch off, with everything that depends on them, for example `eval` or
    /// `postTraining`. Both `postTraining` and `post_training` are understood.
    #[schemars(length(max = 64), inner(length(min = 1, max = 63)), extend("x-kubernetes-list-type" = "set"))]
    pub disabled: Option<Vec<String>>,
    /// How the server is reached: port, TLS, exposure, and who may connect.
    pub networking: Option<NetworkingSpec>,
    /// Who may call the server. Without it, all clients that reach the server.
    pub access: Option<AccessSpec>,
    /// How the server is watched: figures for Prometheus, and where telemetry is sent.
    pub monitoring: Option<MonitoringSpec>,
    /// How the server runs in the cluster: replicas, resources, volume, scaling, pod settings.
    pub workload: Option<WorkloadSpec>,
    /// Providers that are installed from images of their own when the pod starts.
    pub external_providers: Option<ExternalProvidersSpec>,
    /// A complete configuration of your own, instead of a generated one. Excludes `providers`,
    /// `resources`, `storage`, `disabled` and `access`.
    pub override_config: Option<OverrideConfigSpec>,
}

fn spec_rules() -> serde_json::Value {
    let excluded = OVERRIDE_EXCLUDES.iter().map(|(_, rule)| *rule);
    let others = [
        ACCESS_EXCLUDES_COMMAND,
        ACCESS_EXCLUDES_ARGS,
        METRICS_ONE_WORKER,
        METRICS_PORT_OF_ITS_OWN,
    ];
    let rules: Vec<Rule> = excluded.chain(others).collect();
    rules::validations(&rules)
}

/// A ConfigMap that holds the server's whole configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OverrideConfigSpec {
    /// The ConfigMap's name, in the resource's own namespace. The configuration is its key
    /// `config.yaml`, or `run.yaml` where that is missing.
    #[schemars(length(min = 1, max = 253))]
    pub config_map_name: String,
}
