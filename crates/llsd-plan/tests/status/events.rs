//! Events tell of changes, each once.

use llsd_plan::problems::{FieldPath, Problem, Reason};
use llsd_plan::rollout::Refused;
use llsd_plan::status::{Applied, EventKind, TagNow};
use rstest::rstest;
use serde_json::json;

use crate::scene::{Scene, Step, unreachable_registry, without_the_secret};

#[test]
fn a_first_pass_tells_what_was_made() {
    let scene = Scene::vllm().with(|scene| {
        let written = ["Service my-llama-service", "Deployment my-llama"].map(str::to_owned).into();
        scene.applying = Step::Applied(Box::new(Applied { written, ..Applied::default() }));
    });
    let events = scene.report().events;
    let reasons: Vec<&str> = events.iter().map(|event| event.reason).collect();
    assert_eq!(reasons, ["ConfigGenerated", "DeploymentUpdated", "Ready"]);
    assert!(events.iter().all(|event| event.kind == EventKind::Normal && !event.action.is_empty()));
    let name = scene.status().config_generation.unwrap().config_map_name.unwrap();
    assert!(events[0].note.ends_with(&format!(", in ConfigMap {name}")), "{}", events[0].note);
    assert_eq!(events[1].note, "Wrote Deployment my-llama");
}

#[test]
fn an_event_says_why_pods_are_replaced() {
    let scene = Scene::vllm().next().with(|scene| {
        scene.applying = Step::Applied(Box::new(Applied {
            written: vec!["Deployment my-llama".into()],
            causes: vec!["secret:vllm/token".into(), "spec".into()],
            ..Applied::default()
        }));
    });
    let events = scene.report().events;
    let because = "its pod template changed because of: secret:vllm/token, spec";
    assert_eq!(events[0].reason, "DeploymentUpdated");
    assert_eq!(events[0].note, format!("Wrote Deployment my-llama; {because}"));
}

/// A table of changes to a server that runs.
#[rstest]
#[case::nothing(Scene::vllm().next(), &[])]
#[case::another_file(
    Scene::vllm().next().with(|scene| scene.resource["spec"]["resources"]["models"] = json!(["other"])),
    &["ConfigGenerated"]
)]
#[case::secret_gone(Scene::vllm().next().with_facts(without_the_secret()), &["SecretResolutionFailed"])]
#[case::refused(
    Scene::vllm().next().with(|scene| scene.resource["spec"]["distribution"] = json!({ "name": "no" })),
    &["ConfigGenerationFailed"]
)]
#[case::unreadable(
    Scene::vllm().next().with(|scene| scene.unreadable = true),
    &["ConfigGenerationFailed"]
)]
#[case::registry(unreachable_registry(Scene::vllm().next()), &["RegistryUnavailable"])]
#[case::not_ours(failed(Refused::NotOurs), &["ObjectNotOurs"])]
#[case::other_content(failed(Refused::OtherContent), &["ObjectNotOurs"])]
#[case::start_program(without_its_program(), &["StartProgramMissing"])]
#[case::invalid(failed(Refused::Invalid), &["ObjectRefused"])]
#[case::api_server(failed(Refused::Unavailable), &["ApplyFailed"])]
#[case::newer_image(Scene::vllm().next().with(|scene| scene.tag = TagNow::Moved("sha256:beef".into())), &["UpdatePending"])]
#[case::pod(
    Scene::vllm().next().with(|scene| scene.live.pod_trouble = Some("OOMKilled: it was".into()))
        .with_deployment(|deployment| (deployment.ready, deployment.available) = (0, 0)),
    &["ServerFailing"]
)]
#[case::stuck(
    Scene::vllm().next().with_deployment(|deployment| {
        (deployment.ready, deployment.available) = (0, 0);
        deployment.stuck = Some(("ProgressDeadlineExceeded".into(), "timed out".into()));
    }),
    &["ServerFailing"]
)]
fn a_change_is_told_once(#[case] scene: Scene, #[case] expected: &[&str]) {
    assert_eq!(scene.events(), expected);
    assert_eq!(scene.next().events(), Vec::<&str>::new());
}

fn without_its_program() -> Scene {
    Scene::vllm().next().with(|scene| {
        let lost = vec!["start-program.0a1b".to_owned()];
        scene.applying = Step::Applied(Box::new(Applied { lost, ..Applied::default() }));
    })
}

fn failed(refused: Refused) -> Scene {
    Scene::vllm().next().with(|scene| scene.applying = Step::Failed("Deployment my-llama", refused))
}

#[test]
fn another_mistake_is_told_again() {
    let first = Scene::vllm().next().with_facts(without_the_secret()).next();
    let second = first
        .with_facts(json!({ "secrets": { "vllm": { "keys": { "token": { "empty": true } } } } }));
    assert_eq!(second.events(), ["SecretResolutionFailed"]);
}

#[test]
fn a_server_that_comes_back_turns_ready_again() {
    let down = Scene::vllm()
        .next()
        .with_deployment(|deployment| (deployment.ready, deployment.available) = (0, 0));
    let up = down.next().with_deployment(|deployment| {
        (deployment.ready, deployment.available) = (1, 1);
    });
    assert_eq!(up.events(), ["Ready"]);
}

#[test]
fn a_trouble_is_not_new_because_its_details_are() {
    let crash = |scene: Scene, pause: &str| {
        let trouble = format!("CrashLoopBackOff: back-off {pause}");
        scene
            .with(|scene| scene.live.pod_trouble = Some(trouble))
            .with_deployment(|deployment| (deployment.ready, deployment.available) = (0, 0))
    };
    let first = crash(Scene::vllm().next(), "10s");
    assert_eq!(first.report().events[0].note, "CrashLoopBackOff: back-off 10s");
    let second = crash(first.next(), "20s");
    assert_eq!(second.events(), Vec::<&str>::new());
    let other = second.next().with(|scene| {
        scene.live.pod_trouble = Some("ImagePullBackOff: no such image".into());
    });
    assert_eq!(other.events(), ["ServerFailing"]);
}

#[test]
fn warnings_stand_in_the_message_and_are_told_when_it_changes() {
    let scene = Scene::vllm().next().with(|scene| {
        scene.resource["spec"]["disabled"] = json!(["safety", "prompts"]);
        scene.resource["spec"]["providers"]["safety"] = json!({ "provider": "llama-guard" });
    });
    let (_, _, message) = scene.said("ConfigGenerated");
    assert!(
        message.contains("; warnings: spec.disabled[1]: prompts has no providers"),
        "{message}"
    );
    assert!(message.contains("; spec.providers.safety: safety is disabled"), "{message}");
    let events = scene.report().events;
    let told: Vec<(&str, EventKind)> =
        events.iter().map(|event| (event.reason, event.kind)).collect();
    let warning = EventKind::Warning;
    assert_eq!(
        told,
        [
            ("ConfigGenerated", EventKind::Normal),
            ("DisabledProviderIgnored", warning),
            ("SpecWarning", warning)
        ]
    );
    assert!(!events[0].note.contains("warnings"), "{}", events[0].note);
    assert!(events[1].note.starts_with("spec.providers.safety: "), "{}", events[1].note);
    assert_eq!(scene.next().events(), Vec::<&str>::new());
}

#[test]
fn an_external_provider_that_replaces_another_is_reported() {
    let scene = Scene::vllm()
        .next()
        .with(|scene| {
            scene.resource["spec"]["externalProviders"] =
                json!({ "inference": [{ "providerId": "vllm", "image": "own/provider:1" }] });
        })
        .with_facts(json!({ "externalProviders": { "own/provider:1": {
            "api": "inference", "providerType": "remote::own", "module": "own",
        } } }));
    assert!(scene.events().contains(&"ProviderOverridden"), "{:?}", scene.report().events);
}

#[test]
fn remarks_of_the_cluster_are_told_with_the_deployment() {
    let warnings = vec![Problem {
        path: FieldPath::spec().key("workload").key("storage").key("size"),
        reason: Reason::Ignored,
        message: "a volume cannot shrink".into(),
        remedy: "set the size that it has".into(),
    }];
    let scene = Scene::vllm().next().with(|scene| {
        scene.applying = Step::Applied(Box::new(Applied { warnings, ..Applied::default() }));
    });
    let (status, _, message) = scene.said("DeploymentUpdated");
    assert_eq!(status, "True");
    assert_eq!(
        message,
        "Deployment is up to date; warnings: spec.workload.storage.size: a volume cannot shrink"
    );
    assert_eq!(scene.events(), ["SpecWarning"]);
    assert_eq!(scene.next().events(), Vec::<&str>::new());
}

#[test]
fn notes_are_as_long_as_an_event_takes() {
    let scene = Scene::vllm().with(|scene| {
        let model = |number| json!({ "name": format!("modèle-{number}"), "provider": "personne" });
        let models: Vec<_> = (0..100).map(model).collect();
        scene.resource["spec"]["resources"] = json!({ "models": models });
    });
    let events = scene.report().events;
    assert_eq!(events[0].reason, "ConfigGenerationFailed");
    assert!(events[0].note.len() <= 1024 && events[0].note.ends_with('…'), "{}", events[0].note);
}
