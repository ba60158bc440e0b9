//! What the spec says, with its defaults, where several objects must agree on it.

use std::sync::LazyLock;

use llsd_api::v1alpha2::{AutoscalingSpec, NetworkingSpec, OverridesSpec, WorkloadSpec};

use super::Blueprint;

/// The server's own default.
pub const DEFAULT_PORT: i32 = 8321;

static NETWORKING: LazyLock<NetworkingSpec> = LazyLock::new(NetworkingSpec::default);
static WORKLOAD: LazyLock<WorkloadSpec> = LazyLock::new(WorkloadSpec::default);
static OVERRIDES: LazyLock<OverridesSpec> = LazyLock::new(OverridesSpec::default);

impl<'a> Blueprint<'a> {
    pub(super) fn networking(&self) -> &'a NetworkingSpec {
        self.spec.networking.as_ref().unwrap_or(&NETWORKING)
    }

    pub(super) fn workload(&self) -> &'a WorkloadSpec {
        self.spec.workload.as_ref().unwrap_or(&WORKLOAD)
    }

    pub(super) fn overrides(&self) -> &'a OverridesSpec {
        self.workload().overrides.as_ref().unwrap_or(&OVERRIDES)
    }

    /// The port that the server listens on. v1alpha1 has no bounds, and v0.9 takes 0 for "not set".
    pub fn port(&self) -> i32 {
        self.networking().port.filter(|port| *port != 0).unwrap_or(DEFAULT_PORT)
    }

    /// The Secret with the server's certificate, if the server speaks TLS.
    pub fn server_tls(&self) -> Option<&'a str> {
        let tls = self.networking().tls.as_ref()?;
        tls.secret_name.as_deref().filter(|_| tls.enabled == Some(true))
    }

    pub(super) fn workers(&self) -> i32 {
        self.workload().workers.unwrap_or(1)
    }

    pub(super) fn replicas(&self) -> i32 {
        self.workload().replicas.unwrap_or(1)
    }

    /// v0.9 scales nothing with `maxReplicas: 0`, which v1alpha1 allows.
    pub(super) fn autoscaling(&self) -> Option<&'a AutoscalingSpec> {
        self.workload().autoscaling.as_ref().filter(|autoscaling| autoscaling.max_replicas > 0)
    }

    /// The fewest pods that an autoscaler keeps: what it was told, else `replicas`. It cannot be
    /// more than the most, which v1alpha1 does not check.
    pub(super) fn fewest_scaled(&self, autoscaling: &AutoscalingSpec) -> i32 {
        let fewest = autoscaling.min_replicas.unwrap_or_else(|| self.replicas());
        fewest.clamp(1, autoscaling.max_replicas.max(1))
    }

    /// Whether more than one pod is meant to run, so that they are spread and drained one by one.
    pub(super) fn runs_several(&self) -> bool {
        let scaled = self.autoscaling().is_some_and(|scaling| self.fewest_scaled(scaling) > 1);
        self.replicas() > 1 || scaled
    }

    /// Whether the cluster serves an API group.
    pub(super) fn serves(&self, group: &str) -> bool {
        self.facts.served_apis.contains(group)
    }
}
