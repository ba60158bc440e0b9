//! What is said of the server in the cluster.

use llsd_plan::live::DeploymentState;
use llsd_plan::status::{Answers, ServerAnswer};
use rstest::rstest;

use crate::scene::{Scene, running};

/// A table of Deployments: `DeploymentReady`, its message, `Ready` and what is beside it, the phase.
#[rstest]
#[case::ready(running(2), "True DeploymentReady", "Deployment is ready", "True Ready", "", "Ready")]
#[case::scaled_to_zero(
    running(0),
    "True DeploymentReady",
    "Deployment is ready",
    "True Ready",
    "",
    "Ready"
)]
#[case::more_pods_than_wanted(
    DeploymentState { wanted: 2, ..running(4) },
    "True DeploymentReady", "Deployment is ready", "True Ready", "", "Ready"
)]
#[case::not_observed(
    DeploymentState { generation: 3, ..running(2) },
    "False DeploymentPending", "Deployment is rolling out", "False RollingOut", "Reconciling", "Initializing"
)]
#[case::starting(
    DeploymentState { ready: 0, available: 0, ..running(1) },
    "False DeploymentPending", "Deployment is pending", "False RollingOut", "Reconciling", "Initializing"
)]
#[case::scaling_up(
    DeploymentState { wanted: 5, ..running(3) },
    "False DeploymentPending", "Deployment is scaling: 3/5 replicas ready", "False RollingOut", "Reconciling", "Initializing"
)]
#[case::one_pod_lost(
    DeploymentState { ready: 2, available: 2, ..running(3) },
    "False DeploymentPending", "Deployment is scaling: 2/3 replicas ready", "False RollingOut", "Reconciling", "Initializing"
)]
#[case::half_updated(
    DeploymentState { replicas: 4, updated: 1, ..running(3) },
    "False DeploymentPending", "Deployment is rolling out: 1/3 replicas updated", "False RollingOut", "Reconciling", "Initializing"
)]
// The old pod is the available one; the new one has yet to come up.
#[case::new_pod_beside_the_old_one(
    DeploymentState { replicas: 2, ..running(1) },
    "False DeploymentPending", "Deployment is rolling out: 1 old replica left", "False RollingOut", "Reconciling", "Initializing"
)]
#[case::stuck_without_a_pod(
    DeploymentState { ready: 0, available: 0, ..stuck(1) },
    "False DeploymentFailed", "Deployment is pending; ProgressDeadlineExceeded: timed out", "False RolloutStuck", "Stalled", "Failed"
)]
#[case::stuck_while_old_pods_serve(
    DeploymentState { replicas: 2, ..stuck(1) },
    "False DeploymentFailed",
    "Deployment is rolling out: 1 old replica left; ProgressDeadlineExceeded: timed out",
    "False RolloutStuck", "Stalled", "Initializing"
)]
#[case::stuck_before_this_change(
    DeploymentState { generation: 3, ready: 0, available: 0, ..stuck(1) },
    "False DeploymentPending", "Deployment is pending", "False RollingOut", "Reconciling", "Initializing"
)]
#[case::no_pod_may_be_made(
    DeploymentState {
        replicas: 0, updated: 0, ready: 0, available: 0,
        replica_failure: Some("exceeded quota".into()), ..running(1)
    },
    "False DeploymentFailed",
    "Deployment is pending; ReplicaFailure: exceeded quota (lower workload.resources, or have the quota raised)",
    "False ServerFailing", "Reconciling", "Failed"
)]
fn a_deployment_is_told_by_its_numbers(
    #[case] deployment: DeploymentState,
    #[case] deployment_ready: &str,
    #[case] message: &str,
    #[case] ready: &str,
    #[case] beside: &str,
    #[case] phase: &str,
) {
    let pods = deployment.ready;
    let scene = Scene::vllm().with(|scene| scene.live.deployment = Some(deployment));
    assert_eq!(scene.short("DeploymentReady"), deployment_ready);
    assert_eq!(scene.said("DeploymentReady").2, message);
    assert_eq!(scene.short("Ready"), ready);
    for condition in ["Reconciling", "Stalled"] {
        let expected =
            if condition == beside { ready.replace("False", "True") } else { "-".into() };
        assert_eq!(scene.short(condition), expected);
    }
    assert_eq!(scene.phase(), phase);
    assert_eq!(scene.status().available_replicas, Some(pods));
    assert_eq!(scene.short("DeploymentUpdated"), "True DeploymentUpdated");
}

fn stuck(pods: i32) -> DeploymentState {
    let why = ("ProgressDeadlineExceeded".to_owned(), "timed out".to_owned());
    DeploymentState { stuck: Some(why), ..running(pods) }
}

#[test]
fn without_a_deployment_the_resource_is_pending() {
    let scene = Scene::vllm().with(|scene| {
        scene.live.deployment = None;
        scene.server = ServerAnswer::NotAsked;
    });
    assert_eq!(scene.said("DeploymentReady").2, "Deployment is pending");
    assert_eq!(scene.short("Available"), "False DeploymentPending");
    assert_eq!(scene.short("Ready"), "False DeploymentPending");
    assert_eq!(scene.short("Reconciling"), "True DeploymentPending");
    assert_eq!((scene.phase(), scene.status().available_replicas), ("Pending".into(), Some(0)));
}

#[test]
fn a_pod_that_cannot_run_is_told_in_the_words_of_kubernetes() {
    let trouble = "CrashLoopBackOff: back-off 20s restarting failed container";
    let fails = |scene: Scene| scene.with(|scene| scene.live.pod_trouble = Some(trouble.into()));
    let first = fails(Scene::vllm().with_deployment(|deployment| {
        (deployment.ready, deployment.available) = (0, 0);
    }));
    assert_eq!(first.said("Available").2, format!("No replica is available; {trouble}"));
    assert_eq!(first.said("DeploymentReady").2, format!("Deployment is pending; {trouble}"));
    assert_eq!(first.short("DeploymentReady"), "False DeploymentFailed");
    assert_eq!(first.short("Ready"), "False ServerFailing");
    assert_eq!(first.phase(), "Failed");
    // With an old pod that serves, the server has not failed.
    let second = fails(Scene::vllm().with_deployment(|deployment| deployment.replicas = 2));
    assert_eq!(second.short("Available"), "True ReplicasAvailable");
    assert!(second.said("Available").2.ends_with(trouble));
    assert_eq!(second.phase(), "Initializing");
    // A pod too many is in nobody's way.
    assert_eq!(fails(Scene::vllm()).said("DeploymentReady").2, "Deployment is ready");
}

#[rstest]
#[case::zero(running(0), "True ScaledToZero", "No replicas are wanted")]
#[case::some(DeploymentState { available: 1, ..running(3) }, "True ReplicasAvailable", "1/3 replicas are available")]
#[case::none(DeploymentState { available: 0, ..running(3) }, "False NoReplicasAvailable", "No replica is available")]
fn available_means_that_somebody_serves(
    #[case] deployment: DeploymentState,
    #[case] expected: &str,
    #[case] message: &str,
) {
    let scene = Scene::vllm().with(|scene| scene.live.deployment = Some(deployment));
    assert_eq!(scene.short("Available"), expected);
    assert_eq!(scene.said("Available").2, message);
}

#[rstest]
#[case(
    ServerAnswer::NotAsked,
    "Unknown ServerNotAsked",
    "The server is asked once one of its pods is ready"
)]
#[case(ServerAnswer::Unreachable("no route to host".into()), "Unknown ServerUnreachable", "no route to host")]
#[case(answered(Ok(())), "True HealthCheckPassed", "Health check passed")]
#[case(answered(Err("status 503".into())), "False HealthCheckFailed", "status 503")]
fn health_is_told_and_never_decides(
    #[case] server: ServerAnswer,
    #[case] expected: &str,
    #[case] message: &str,
) {
    let scene = Scene::vllm().with(|scene| scene.server = server);
    assert_eq!(scene.short("HealthCheck"), expected);
    assert_eq!(scene.said("HealthCheck").2, message);
    assert_eq!(scene.short("Ready"), "True Ready");
}

#[test]
fn a_server_that_is_not_reached_is_told_by_the_kind_of_trouble_not_by_its_wording() {
    let in_trouble = |server: ServerAnswer| Scene::vllm().with(|scene| scene.server = server);
    let first = in_trouble(ServerAnswer::Unreachable("its name cannot be resolved".into()));
    let told = first.condition("HealthCheck");
    let next = |server: ServerAnswer| first.clone().next().with(|scene| scene.server = server);
    let worded = next(ServerAnswer::Unreachable("it does not answer in time".into()));
    assert_eq!(worded.condition("HealthCheck"), told);
    assert_eq!(
        next(ServerAnswer::Awaited).condition("HealthCheck"),
        told,
        "until there is an answer"
    );
    let other = next(ServerAnswer::Untrusted("it serves another certificate".into()));
    assert_eq!(other.short("HealthCheck"), "Unknown ServerUntrusted");
    assert_eq!(other.said("HealthCheck").2, "it serves another certificate");
    assert_eq!(next(answered(Ok(()))).short("HealthCheck"), "True HealthCheckPassed");
    assert_eq!(in_trouble(ServerAnswer::Awaited).short("HealthCheck"), "Unknown ServerNotAsked");
}

fn answered(health: Result<(), String>) -> ServerAnswer {
    ServerAnswer::Answered(Answers { health, version: None, providers: None })
}

#[rstest]
#[case(None, "-", "")]
#[case(Some("Bound"), "True StorageReady", "Storage is ready")]
#[case(Some("Pending"), "False StorageFailed", "PVC is not bound: Pending")]
#[case(Some("Lost"), "False StorageFailed", "PVC is not bound: Lost")]
fn storage_is_told_where_there_is_a_claim(
    #[case] claim: Option<&str>,
    #[case] expected: &str,
    #[case] message: &str,
) {
    let scene = Scene::vllm().with(|scene| scene.live.claim = claim.map(str::to_owned));
    assert_eq!(scene.short("StorageReady"), expected);
    if claim.is_some() {
        assert_eq!(scene.said("StorageReady").2, message);
    }
}

#[test]
fn a_service_that_is_not_there_is_told() {
    assert_eq!(Scene::vllm().said("ServiceReady").2, "Service is ready");
    let scene = Scene::vllm().with(|scene| scene.live.service = false);
    assert_eq!(scene.short("ServiceReady"), "False ServiceFailed");
    assert_eq!(scene.status().service_url, None);
}
