//! How pods are replaced: whether new ones come first, how long a new one must have been ready, and how
//! long an old one goes on serving, so that no request is lost.

use k8s_openapi::api::apps::v1::{DeploymentStrategy, RollingUpdateDeployment};
use k8s_openapi::api::core::v1::{Lifecycle, LifecycleHandler, SleepAction};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use llsd_api::v1alpha2::StrategyType;

use super::blueprint::Blueprint;

/// Until then proxies, Ingress controllers and gateways have learnt that a pod is to stop.
const DRAIN: i64 = 15;
/// The longest request that ends by itself while its pod stops. A server without requests does not
/// wait for it.
const LONGEST_REQUEST: i64 = 600;
/// What Kubernetes gives a pod. Where the next pod waits for the last one's end, nobody serves
/// meanwhile, so that requests that take longer are cut.
const SHORT_GRACE: i64 = 30;
/// A server that dies soon after it began to answer has not replaced one that works.
const SETTLED: i32 = 5;
/// To find a node and to pull images.
const SCHEDULING: i32 = 300;

/// With its state on a volume the old pod goes first: it holds the volume, and the files on it are
/// locked.
pub(super) fn strategy_type(blueprint: &Blueprint) -> StrategyType {
    blueprint.overrides().strategy.unwrap_or(if blueprint.keeps_state() {
        StrategyType::Recreate
    } else {
        StrategyType::RollingUpdate
    })
}

/// The numbers are spelt out. Kubernetes would set its defaults as fields of nobody, and then refuse
/// them beside `Recreate` when the server is given a volume; fields of ours go when we no longer apply
/// them.
pub(super) fn strategy(blueprint: &Blueprint) -> DeploymentStrategy {
    let (max_surge, max_unavailable) = match strategy_type(blueprint) {
        StrategyType::Recreate => {
            return DeploymentStrategy { type_: Some("Recreate".into()), rolling_update: None };
        }
        StrategyType::RollingUpdate if blueprint.runs_several() => {
            let quarter = IntOrString::String("25%".into());
            (quarter.clone(), quarter)
        }
        StrategyType::RollingUpdate => (IntOrString::Int(1), IntOrString::Int(0)),
    };
    DeploymentStrategy {
        type_: Some("RollingUpdate".into()),
        rolling_update: Some(RollingUpdateDeployment {
            max_surge: Some(max_surge),
            max_unavailable: Some(max_unavailable),
        }),
    }
}

/// Whether somebody else serves while a pod stops.
fn is_covered(blueprint: &Blueprint) -> bool {
    strategy_type(blueprint) == StrategyType::RollingUpdate || blueprint.runs_several()
}

/// How long a pod that is to stop goes on serving.
fn drain_seconds(blueprint: &Blueprint) -> i64 {
    let overrides = blueprint.overrides();
    let default = || {
        let half = overrides.termination_grace_period_seconds.map(|grace| grace / 2);
        if is_covered(blueprint) { half.map_or(DRAIN, |half| DRAIN.min(half)) } else { 0 }
    };
    overrides.drain_seconds.unwrap_or_else(default)
}

/// How long a pod may take to stop.
pub(super) fn grace_seconds(blueprint: &Blueprint) -> i64 {
    let requests = if is_covered(blueprint) { LONGEST_REQUEST } else { SHORT_GRACE };
    let given = blueprint.overrides().termination_grace_period_seconds;
    given.unwrap_or_else(|| drain_seconds(blueprint) + requests)
}

/// Goes on serving before the server is told to stop. The kubelet itself waits: an image may have no
/// program that does.
pub(super) fn lifecycle(blueprint: &Blueprint) -> Option<Lifecycle> {
    let seconds = Some(drain_seconds(blueprint)).filter(|seconds| *seconds > 0)?;
    let sleep = LifecycleHandler { sleep: Some(SleepAction { seconds }), ..Default::default() };
    Some(Lifecycle { pre_stop: Some(sleep), ..Default::default() })
}

/// How long a new pod must have been ready before an old one goes.
pub(super) fn min_ready_seconds(blueprint: &Blueprint) -> Option<i32> {
    let overrides = blueprint.overrides();
    let default = || {
        let rolling = strategy_type(blueprint) == StrategyType::RollingUpdate;
        // Kubernetes wants it below the deadline.
        let most = overrides.progress_deadline_seconds.map_or(SETTLED, |deadline| deadline - 1);
        rolling.then_some(SETTLED.min(most))
    };
    overrides.min_ready_seconds.or_else(default).filter(|seconds| *seconds > 0)
}

/// How long a rollout may go without progress, with a server that may take `startup` seconds to start.
pub(super) fn progress_deadline_seconds(blueprint: &Blueprint, startup: i32) -> i32 {
    let settled = min_ready_seconds(blueprint).unwrap_or(0);
    let given = blueprint.overrides().progress_deadline_seconds;
    given.unwrap_or_else(|| startup.saturating_add(SCHEDULING).saturating_add(settled))
}
