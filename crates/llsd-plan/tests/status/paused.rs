//! A resource that its owner has paused.

use llsd_plan::rollout::{KeepCause, Return};
use serde_json::json;

use crate::preflight::refused;
use crate::scene::{Scene, keeping};

fn paused(scene: Scene) -> Scene {
    scene.with(|scene| {
        scene.resource["metadata"]["annotations"] = json!({"llamastack.io/paused": "true"});
    })
}

#[test]
fn a_paused_server_that_runs_as_asked_is_ready_and_says_that_it_is_paused() {
    let scene = paused(Scene::vllm().next());
    assert_eq!(scene.short("Paused"), "True Paused");
    assert_eq!((scene.short("Ready"), scene.phase()), ("True Ready".into(), "Ready".into()));
    assert_eq!(scene.short("ConfigGenerated"), "True ConfigGenerationSucceeded");
    assert_eq!(scene.events(), ["Paused"]);
    assert!(scene.next().events().is_empty());
}

#[test]
fn a_change_that_waits_for_the_end_of_the_pause_is_not_called_ready() {
    let scene = paused(Scene::vllm().next()).with(|scene| {
        scene.resource["metadata"]["generation"] = json!(4);
    });
    assert_eq!(scene.short("Ready"), "False Paused");
    assert_eq!(scene.short("Stalled"), "True Paused");
    assert_eq!(scene.phase(), "Initializing");
    let before = scene.condition("DeploymentUpdated").unwrap();
    assert_eq!(before.observed_generation, Some(3), "it speaks of what was carried out");
    let again = scene.with(|scene| {
        scene.resource["metadata"]["annotations"] = json!({"llamastack.io/paused": "false"});
    });
    assert_eq!((again.short("Ready"), again.short("Paused")), ("True Ready".into(), "-".into()));
}

/// A server that runs the state of before, and how its resource came to that.
fn returned(why: &str) -> Scene {
    let back = Return { to: "5d4f8b7c9d".into(), why: why.into(), ..Return::default() };
    let step = keeping(KeepCause::RolledBack(back.clone()), &["spec.template.spec"]);
    let scene = Scene::vllm().with(|scene| {
        scene.applying = step;
        scene.live.rolled_back = Some(back);
    });
    scene.next()
}

#[test]
fn a_pause_by_itself_changes_nothing_of_what_ready_says() {
    let asked = returned("");
    assert_eq!(asked.short("Ready"), "True Ready");
    let asked = paused(asked);
    assert_eq!((asked.short("Ready"), asked.short("Stalled")), ("True Ready".into(), "-".into()));
    assert_eq!(asked.short("RolledBack"), "True RollbackRequested");
    assert!(!asked.said("Paused").2.contains("waits"), "{:?}", asked.said("Paused"));

    let failed = returned("timed out");
    let before = failed.said("Ready");
    assert_eq!(failed.short("Ready"), "False RolledBack");
    let failed = paused(failed);
    assert_eq!(failed.said("Ready"), before);
    assert_eq!(
        (failed.short("Stalled"), failed.phase()),
        ("True RolledBack".into(), "Initializing".into())
    );

    // The next change of the spec does wait for the end of the pause.
    let changed = failed.next().with(|scene| scene.resource["metadata"]["generation"] = json!(4));
    assert_eq!(changed.short("Ready"), "False Paused");
    assert!(
        changed.said("Paused").2.ends_with("; what waits: spec"),
        "{:?}",
        changed.said("Paused")
    );
}

#[test]
fn what_was_refused_before_a_pause_is_still_refused_and_does_not_wait() {
    let refused = refused().next();
    assert_eq!(refused.short("Ready"), "False PreflightFailed");
    let before = refused.said("Ready");
    // The record of the Deployment is that of the spec before.
    let paused = paused(refused).with(|scene| scene.waiting = Some(vec!["spec".into()]));
    assert_eq!(paused.said("Ready"), before);
    assert!(!paused.said("Paused").2.contains("waits"), "{:?}", paused.said("Paused"));
}

#[test]
fn what_changed_beside_the_resource_is_told_while_it_waits_and_the_server_stays_ready() {
    let quiet = paused(Scene::vllm().next()).next();
    let told = |scene: &Scene| scene.said("Paused").2;
    assert!(!told(&quiet).contains("waits"), "{}", told(&quiet));
    let rotated = quiet.with(|scene| scene.waiting = Some(vec!["secret:vllm/token".into()]));
    assert!(told(&rotated).ends_with("; what waits: secret:vllm/token"), "{}", told(&rotated));
    assert_eq!((rotated.short("Ready"), rotated.events()), ("True Ready".into(), vec!["Paused"]));

    // A registry or an API server that does not answer is no reason to tell less.
    let unknown = rotated.next().with(|scene| scene.waiting = None);
    assert!(told(&unknown).contains("secret:vllm/token"), "{}", told(&unknown));
    assert!(unknown.events().is_empty());
    let changed = unknown.with(|scene| scene.resource["metadata"]["generation"] = json!(4));
    assert!(told(&changed).ends_with("; what waits: spec"), "{}", told(&changed));
    let both =
        changed.with(|scene| scene.waiting = Some(vec!["secret:vllm/token".into(), "spec".into()]));
    assert!(told(&both).ends_with("; what waits: spec, secret:vllm/token"), "{}", told(&both));
}

#[test]
fn what_scales_a_resource_finds_its_pods() {
    let status = Scene::vllm().with_deployment(|deployment| deployment.replicas = 3).status();
    assert_eq!(status.replicas, Some(3));
    assert_eq!(
        status.selector.as_deref(),
        Some("app=llama-stack,app.kubernetes.io/instance=my-llama")
    );
}
