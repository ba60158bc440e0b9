//! What a status says of a change that is checked before it is rolled out.

use llsd_api::v1alpha2::{PreflightProblem, PreflightStatus, PreflightVerdict};
use llsd_plan::rollout::KeepCause;
use llsd_plan::rollout::preflight::{Preflight, State};

use super::scene::{Scene, Step, keeping};

fn checked(verdict: PreflightVerdict, problems: Vec<PreflightProblem>) -> State {
    State::Checked(PreflightStatus {
        hash: "0a1b2c3d".into(),
        verdict,
        server: Some("llama-stack 0.7.3".into()),
        why: (verdict == PreflightVerdict::NotJudged).then(|| "exceeded quota".into()),
        problems: Some(problems).filter(|problems| !problems.is_empty()),
        ..PreflightStatus::default()
    })
}

fn scene(state: State) -> Scene {
    let preflight = Preflight { job: "my-llama-preflight".into(), state, is_recorded: false };
    let mut step = keeping(KeepCause::Preflight, &["spec.template"]);
    if let Step::Applied(applied) = &mut step {
        if !preflight.holds() {
            applied.kept = None;
        }
        applied.preflight = Some(Box::new(preflight));
    }
    Scene::vllm().with(|scene| scene.applying = step)
}

/// A server whose last change its image refused.
pub fn refused() -> Scene {
    scene(checked(PreflightVerdict::Refused, vec![problem()]))
}

fn problem() -> PreflightProblem {
    PreflightProblem {
        kind: "schema".into(),
        field: "spec.providers.inference.endpoint".into(),
        path: Some("providers.inference[1].config.base_url".into()),
        message: "Input should be a valid URL".into(),
    }
}

#[test]
fn what_an_image_refuses_is_told_in_its_words_with_the_field_and_how_to_go_on() {
    let refused = refused();
    let (status, reason, message) = refused.said("Preflight");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "PreflightFailed"));
    for words in [
        "spec.providers.inference.endpoint: Input should be a valid URL",
        "providers.inference[1].config.base_url of config.yaml",
        "llama-stack 0.7.3",
        "llamastack.io/retry",
    ] {
        assert!(message.contains(words), "{message}");
    }
    assert_eq!(refused.short("Ready"), "False PreflightFailed");
    assert_eq!(refused.short("Stalled"), "True PreflightFailed");
    assert_eq!(refused.short("DeploymentUpdated"), "False PreflightFailed");
    assert_eq!(
        (refused.short("UpdatePending"), refused.phase()),
        ("-".into(), "Initializing".into())
    );
    assert!(refused.events().contains(&"PreflightFailed"));
    assert_eq!(refused.status().preflight.unwrap().problems, Some(vec![problem()]));
    assert_eq!(refused.clone().next().events(), Vec::<&str>::new(), "it is told once");
    // Nobody asks for it any more.
    let withdrawn = refused.next().with(|scene| scene.applying = Scene::vllm().applying);
    assert_eq!(
        (withdrawn.short("Preflight"), withdrawn.short("Ready")),
        ("-".into(), "True Ready".into())
    );
    assert_eq!(withdrawn.status().preflight, None);
}

#[test]
fn while_it_is_checked_nothing_is_stalled_and_the_server_is_as_it_was() {
    let running = scene(State::Asking(None));
    assert_eq!(running.short("Preflight"), "Unknown PreflightRunning");
    assert_eq!(running.short("Ready"), "False PreflightRunning");
    assert_eq!(running.short("Reconciling"), "True PreflightRunning");
    assert_eq!(
        (running.short("Stalled"), running.short("DeploymentReady")),
        ("-".into(), "True DeploymentReady".into())
    );
}

#[test]
fn what_passed_is_remembered_and_what_could_not_be_checked_is_a_warning() {
    let passed = scene(checked(PreflightVerdict::Good, Vec::new()));
    assert_eq!(passed.short("Preflight"), "True PreflightPassed");
    assert_eq!(passed.short("Ready"), "True Ready");
    assert!(passed.events().contains(&"PreflightPassed"));
    let later = passed.next().with(|scene| scene.applying = Scene::vllm().applying);
    assert_eq!(later.short("Preflight"), "True PreflightPassed");
    assert!(later.status().preflight.is_some());
    let skipped = scene(checked(PreflightVerdict::NotJudged, Vec::new()));
    let (status, reason, message) = skipped.said("Preflight");
    assert_eq!((status.as_str(), reason.as_str()), ("Unknown", "PreflightSkipped"));
    assert!(message.contains("exceeded quota"), "{message}");
    assert!(skipped.events().contains(&"PreflightSkipped"));
}
