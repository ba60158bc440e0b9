//! `status`: what the operator found and did. It holds every field of v1alpha1's status and more.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with_macros::skip_serializing_none;

/// What the operator found and did.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LlamaStackDistributionStatus {
    /// The generation of the resource that this status speaks of.
    pub observed_generation: Option<i64>,
    /// The state in one word, derived from the conditions.
    pub phase: Option<Phase>,
    /// Versions of the operator and of the running server.
    pub version: Option<VersionInfo>,
    /// What the running server says of itself.
    pub distribution_config: Option<DistributionConfig>,
    /// The image that runs, and where its base configuration came from.
    pub resolved_distribution: Option<ResolvedDistribution>,
    /// The generated configuration.
    pub config_generation: Option<ConfigGenerationStatus>,
    /// The result of the last preflight: what the new image said of a change before it was rolled out.
    pub preflight: Option<PreflightStatus>,
    /// How far each external provider is.
    #[schemars(extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["initContainerName"]
    ))]
    pub external_providers: Option<Vec<ExternalProviderStatus>>,
    /// The state in detail.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Option<Vec<Condition>>,
    /// How many pods there are, ready or not; what the scale subresource reports.
    pub replicas: Option<i32>,
    /// The labels of the pods as a query, by which autoscalers find them.
    pub selector: Option<String>,
    /// How many pods are ready.
    pub available_replicas: Option<i32>,
    /// Where the server is reached inside the cluster.
    #[serde(rename = "serviceURL")]
    pub service_url: Option<String>,
    /// Where the server is reached from outside; empty while that is not known yet.
    #[serde(rename = "routeURL")]
    pub route_url: Option<String>,
}

/// How far one external provider is.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalProviderStatus {
    /// Its id.
    pub provider_id: String,
    /// Its image, pinned to a digest where that is known.
    pub image: String,
    pub phase: ExternalPhase,
    /// What is waited for, or what is wrong and what to do about it.
    pub message: Option<String>,
    /// The init container that installs it.
    pub init_container_name: String,
    /// Since when it is in this phase.
    pub last_transition_time: Option<Time>,
}

/// How far an external provider is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ExternalPhase {
    // Plain comments, as below.
    // No pod has begun to install it.
    Pending,
    // A pod installs it, or starts with it.
    Installing,
    // The running server lists it.
    Ready,
    // It is refused, not installed, or not served.
    Failed,
}

/// What the new image said of a change.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreflightStatus {
    /// Stands for what was checked: image, file, packages and variables.
    pub hash: String,
    pub verdict: PreflightVerdict,
    /// The server that checked it, with its release.
    pub server: Option<String>,
    /// Why nothing could be checked, or not yet.
    pub why: Option<String>,
    /// What the server finds wrong, or would silently leave out.
    pub problems: Option<Vec<PreflightProblem>>,
    /// How many more problems there are.
    pub more: Option<i64>,
    /// When the preflight ended; while it is pending, when it began.
    pub judged_at: Option<Time>,
    /// Stands for the part of the spec that was checked, regardless of image and values at that time.
    pub spec_hash: Option<String>,
}

/// What became of a judgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PreflightVerdict {
    // Plain comments: a description of each would make a schema that Kubernetes does not take.
    // The server would start with it, as far as can be told beforehand.
    Good,
    // The server would not start with it.
    Refused,
    // It could not be checked, and is rolled out without a check.
    #[default]
    NotJudged,
    // The Job that judges it could not be made yet; it is tried again.
    Pending,
}

/// One finding of a judgement.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreflightProblem {
    /// What it is about: `schema`, `provider`, `package`, `mismatch`, `dropped`, `volume`, `model` or
    /// `image`.
    pub kind: String,
    /// The field of the resource that it comes from.
    pub field: String,
    /// The place in config.yaml.
    pub path: Option<String>,
    /// The server's own words.
    pub message: String,
}

/// The state in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    Pending,
    Initializing,
    Ready,
    Failed,
    Terminating,
}

/// Versions of the operator and of the running server.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionInfo {
    /// The operator's version.
    pub operator_version: Option<String>,
    /// The server's version, as it says itself.
    pub llama_stack_server_version: Option<String>,
    /// When one of the two last changed.
    pub last_updated: Option<Time>,
}

/// What the running server says of itself.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DistributionConfig {
    /// The distribution's name, or `custom` for an image.
    pub active_distribution: Option<String>,
    /// The server's providers.
    pub providers: Option<Vec<ProviderStatus>>,
    /// The distributions that the operator knows, with their images.
    pub available_distributions: Option<BTreeMap<String, String>>,
}

/// A provider of the running server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderStatus {
    /// The API that it serves.
    pub api: String,
    /// Its id.
    pub provider_id: String,
    /// Its type.
    pub provider_type: String,
    /// Its configuration as generated, with references in place of secrets.
    pub config: Value,
    /// Its health, as the server says.
    pub health: ProviderHealth,
}

/// A provider's health.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderHealth {
    /// `OK`, `Error` or `Not Implemented`.
    pub status: String,
    /// What the server adds to it; may be empty.
    pub message: String,
}

/// The image that runs, and where its base configuration came from.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedDistribution {
    /// The image.
    pub image: Option<String>,
    /// Its digest.
    pub digest: Option<String>,
    /// Where the configuration came from: `Labels`, `Layer`, `Embedded`, `Override` or `Default`.
    pub config_source: Option<String>,
    /// The hash of the base configuration.
    pub config_hash: Option<String>,
    /// The server inside and its release, as far as the image says: `OGX 1.5.0`.
    pub server: Option<String>,
}

/// The generated configuration.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigGenerationStatus {
    /// The ConfigMap that holds it.
    pub config_map_name: Option<String>,
    /// When it last changed.
    pub generated_at: Option<Time>,
    /// How many providers it holds.
    pub provider_count: Option<i32>,
    /// How many models, tools and shields it registers.
    pub resource_count: Option<i32>,
    /// The version of its schema.
    pub config_version: Option<i32>,
}
