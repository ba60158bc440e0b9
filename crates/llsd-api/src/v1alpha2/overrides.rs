//! `spec.workload.overrides`: settings of the pods that win over the operator's own.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, EnvFromSource, EnvVar, LocalObjectReference, PodSecurityContext, Probe, Toleration,
    Volume, VolumeMount,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::rules::{DRAIN_WITHIN_GRACE, READY_WITHIN_DEADLINE, validations};

/// Settings of the pod and its container that win over the operator's own.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = validations(&[DRAIN_WITHIN_GRACE, READY_WITHIN_DEADLINE])))]
pub struct OverridesSpec {
    /// The ServiceAccount of the pods. Default: one of the operator's making.
    #[schemars(length(max = 253))]
    pub service_account_name: Option<String>,
    /// Environment variables of the server; they win over the operator's.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub env: Option<Vec<EnvVar>>,
    /// ConfigMaps and Secrets whose keys become environment variables.
    pub env_from: Option<Vec<EnvFromSource>>,
    /// The container's command instead of the operator's.
    pub command: Option<Vec<String>>,
    /// The container's arguments instead of the operator's.
    pub args: Option<Vec<String>>,
    /// Further volumes of the pod.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub volumes: Option<Vec<Volume>>,
    /// Further mounts of the container.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["mountPath"]))]
    pub volume_mounts: Option<Vec<VolumeMount>>,
    /// How long a pod may take to stop, in seconds, `drainSeconds` included. Default: 615, so that requests
    /// of ten minutes end; 30 where the next pod waits for the last one's end.
    #[schemars(range(min = 0))]
    pub termination_grace_period_seconds: Option<i64>,
    /// How long a pod that is to stop keeps serving, in seconds, so that proxies stop sending requests to
    /// it first. Default: 15; 0 where the next pod waits for the last one's end.
    #[schemars(range(min = 0, max = 3600))]
    pub drain_seconds: Option<i64>,
    /// How long the server may take to start, in seconds, before it is started again. Default: 600.
    #[schemars(range(min = 1, max = 604_800))]
    pub startup_seconds: Option<i32>,
    /// How long a new pod must have been ready, in seconds, before an old one goes. Default: 5; 0
    /// where the next pod waits for the last one's end.
    #[schemars(range(min = 0, max = 86_400))]
    pub min_ready_seconds: Option<i32>,
    /// How long a rollout may go without progress, in seconds, before it counts as failed. Default: the
    /// time to start, and five minutes for finding a node and pulling images.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub progress_deadline_seconds: Option<i32>,
    /// How the kubelet checks on the server, field by field over the operator's own.
    pub probes: Option<ProbesSpec>,
    /// How pods are replaced. Default: `Recreate` where their state lies on a volume that is mounted
    /// for writing, because its files are locked; else `RollingUpdate`.
    pub strategy: Option<StrategyType>,
    /// Secrets with which images are pulled.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub image_pull_secrets: Option<Vec<LocalObjectReference>>,
    /// Labels that a node must carry.
    pub node_selector: Option<BTreeMap<String, String>>,
    /// Taints of nodes that the pods tolerate.
    pub tolerations: Option<Vec<Toleration>>,
    /// Affinity of the pods to nodes and to other pods.
    pub affinity: Option<Affinity>,
    /// Further labels of the pods. Those of the Deployment's selector cannot be changed.
    pub pod_labels: Option<BTreeMap<String, String>>,
    /// Further annotations of the pods.
    pub pod_annotations: Option<BTreeMap<String, String>>,
    /// The pods' security context, field by field over the operator's.
    pub security_context: Option<PodSecurityContext>,
}

/// How the kubelet checks on the server. A field that is set wins over the operator's; one of `httpGet`,
/// `tcpSocket`, `exec` and `grpc` takes the place of its request.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProbesSpec {
    /// Whether the server has started. Its period and threshold win over `startupSeconds`.
    pub startup: Option<Probe>,
    /// Whether the server gets requests.
    pub readiness: Option<Probe>,
    /// Whether the server is left running.
    pub liveness: Option<Probe>,
}

/// How pods are replaced: `RollingUpdate` makes new pods first, `Recreate` lets old ones go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum StrategyType {
    RollingUpdate,
    Recreate,
}
