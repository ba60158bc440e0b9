//! How the kubelet checks on the server. `/v1/health` answers as soon as the server serves, also when a
//! model backend is down and without a login, so a probe never restarts a server for somebody else's
//! fault.

use k8s_openapi::api::core::v1::{HTTPGetAction, Probe};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use llsd_api::v1alpha2::ProbesSpec;

use crate::objects::blueprint::Blueprint;

const HEALTH: &str = "/v1/health";
/// Seconds to start in: a server takes 5 to 20, or minutes where it downloads an embedding model first.
const STARTUP: i32 = 600;
/// Seconds in which a server has to end that does not answer: it has no requests to finish, for which
/// a pod that is replaced gets minutes.
const GRACE: i64 = 30;
/// Seconds between two looks at a server that starts.
const STARTUP_PERIOD: i32 = 5;

pub(super) fn startup(blueprint: &Blueprint) -> Probe {
    let seconds = blueprint.overrides().startup_seconds.unwrap_or(STARTUP);
    let looks = seconds.div_euclid(STARTUP_PERIOD) + i32::from(seconds % STARTUP_PERIOD != 0);
    let ours = Probe {
        period_seconds: Some(STARTUP_PERIOD),
        failure_threshold: Some(looks),
        termination_grace_period_seconds: Some(GRACE),
        ..asking(blueprint, 5)
    };
    overridden(blueprint, |probes| probes.startup.as_ref(), ours)
}

/// Takes a server that does not answer out of the Service.
pub(super) fn readiness(blueprint: &Blueprint) -> Probe {
    let ours =
        Probe { period_seconds: Some(10), failure_threshold: Some(3), ..asking(blueprint, 5) };
    overridden(blueprint, |probes| probes.readiness.as_ref(), ours)
}

/// Restarts a server that hangs. Inline providers may keep it from answering for a while, so it
/// gets more than two minutes.
pub(super) fn liveness(blueprint: &Blueprint) -> Probe {
    let ours = Probe {
        period_seconds: Some(20),
        failure_threshold: Some(8),
        termination_grace_period_seconds: Some(GRACE),
        ..asking(blueprint, 15)
    };
    overridden(blueprint, |probes| probes.liveness.as_ref(), ours)
}

/// How long the server may take to start before it is started again.
pub(in crate::objects) fn startup_seconds(blueprint: &Blueprint) -> i32 {
    // Kubernetes' own defaults, for a probe of the user's that sets only some of the fields.
    let Probe { initial_delay_seconds, period_seconds, failure_threshold, .. } = startup(blueprint);
    let looking = period_seconds.unwrap_or(10).saturating_mul(failure_threshold.unwrap_or(3));
    initial_delay_seconds.unwrap_or(0).saturating_add(looking)
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

fn overridden(
    blueprint: &Blueprint,
    which: impl Fn(&ProbesSpec) -> Option<&Probe>,
    ours: Probe,
) -> Probe {
    let theirs = blueprint.overrides().probes.as_ref().and_then(which);
    theirs.map_or(ours.clone(), |theirs| laid_over(theirs.clone(), ours))
}

/// Field by field, without `..`: a field that a later Kubernetes brings must not be lost here. What is
/// asked is one thing, in whichever of four fields it stands.
fn laid_over(theirs: Probe, ours: Probe) -> Probe {
    let Probe {
        exec,
        failure_threshold,
        grpc,
        http_get,
        initial_delay_seconds,
        period_seconds,
        success_threshold,
        tcp_socket,
        termination_grace_period_seconds,
        timeout_seconds,
    } = theirs;
    let asks = exec.is_some() || grpc.is_some() || http_get.is_some() || tcp_socket.is_some();
    Probe {
        exec,
        grpc,
        http_get: if asks { http_get } else { ours.http_get },
        tcp_socket,
        failure_threshold: failure_threshold.or(ours.failure_threshold),
        initial_delay_seconds: initial_delay_seconds.or(ours.initial_delay_seconds),
        period_seconds: period_seconds.or(ours.period_seconds),
        success_threshold: success_threshold.or(ours.success_threshold),
        termination_grace_period_seconds: termination_grace_period_seconds
            .or(ours.termination_grace_period_seconds),
        timeout_seconds: timeout_seconds.or(ours.timeout_seconds),
    }
}
