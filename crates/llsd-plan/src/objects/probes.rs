//! How the kubelet asks after the server. `/v1/health` answers as soon as the server serves, also
//! when a model backend is down and without a login, so a probe never restarts a server for
//! somebody else's fault.

use k8s_openapi::api::core::v1::{HTTPGetAction, Probe};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::Blueprint;

const HEALTH: &str = "/v1/health";

/// Ten minutes to start in: a server takes 5 to 20 seconds, or minutes where it downloads an
/// embedding model first.
pub(super) fn startup(blueprint: &Blueprint) -> Probe {
    Probe { period_seconds: Some(5), failure_threshold: Some(120), ..asking(blueprint, 5) }
}

/// Takes a server that does not answer out of the Service.
pub(super) fn readiness(blueprint: &Blueprint) -> Probe {
    Probe { period_seconds: Some(10), failure_threshold: Some(3), ..asking(blueprint, 5) }
}

/// Restarts a server that hangs. Inline providers may keep it from answering for a while, so it
/// gets more than two minutes.
pub(super) fn liveness(blueprint: &Blueprint) -> Probe {
    Probe { period_seconds: Some(20), failure_threshold: Some(8), ..asking(blueprint, 15) }
}

fn asking(blueprint: &Blueprint, timeout_seconds: i32) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(HEALTH.into()),
            port: IntOrString::Int(blueprint.port()),
            scheme: blueprint.server_tls().map(|_| "HTTPS".into()),
            ..Default::default()
        }),
        timeout_seconds: Some(timeout_seconds),
        ..Default::default()
    }
}
