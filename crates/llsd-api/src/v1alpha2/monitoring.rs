//! `spec.monitoring`: how the server is watched.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::patterns::COLLECTOR;

/// Figures for Prometheus, and where telemetry is sent.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MonitoringSpec {
    /// Figures that the server serves for Prometheus. OGX 1.2 and later have them.
    pub metrics: Option<MetricsSpec>,
    /// The ServiceMonitor that is made with `metrics`, where the cluster serves that kind.
    pub service_monitor: Option<ServiceMonitorSpec>,
    /// Where the server sends its telemetry. llama-stack 0.3 and later, and OGX.
    pub otlp: Option<OtlpSpec>,
}

/// Figures on a port of their own. That port asks nobody who they are, so a NetworkPolicy lets only namespaces
/// that monitor reach it.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MetricsSpec {
    /// Whether the server serves figures.
    pub enabled: bool,
    /// The port that they are served on. Default: 9464.
    #[schemars(range(min = 1024, max = 65535))]
    pub port: Option<i32>,
}

impl MetricsSpec {
    /// Where figures are served by default, as OpenTelemetry's exporters do.
    pub const DEFAULT_PORT: i32 = 9464;
}

/// What is said of the ServiceMonitor.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceMonitorSpec {
    /// More labels of it, such as those by which a Prometheus selects.
    #[schemars(extend("maxProperties" = 64))]
    pub labels: Option<BTreeMap<String, String>>,
}

/// An OpenTelemetry collector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OtlpSpec {
    /// Its address for OTLP over HTTP, such as `http://collector:4318`.
    #[schemars(length(min = 1, max = 2048), regex(pattern = COLLECTOR))]
    pub endpoint: String,
}
