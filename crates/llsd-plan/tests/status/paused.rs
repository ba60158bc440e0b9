//! A resource that its owner has paused.

use serde_json::json;

use crate::scene::Scene;

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

#[test]
fn what_scales_a_resource_finds_its_pods() {
    let status = Scene::vllm().with_deployment(|deployment| deployment.replicas = 3).status();
    assert_eq!(status.replicas, Some(3));
    assert_eq!(
        status.selector.as_deref(),
        Some("app=llama-stack,app.kubernetes.io/instance=my-llama")
    );
}
