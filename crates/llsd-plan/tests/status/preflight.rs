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
    let job = "my-llama-preflight".into();
    let preflight = Preflight { job, state, is_recorded: false, again: 2 };
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
    let pending = PreflightStatus { verdict: PreflightVerdict::Pending, ..<_>::default() };
    let running = scene(State::Asking(None, Box::new(pending.clone())));
    assert_eq!(running.status().preflight, Some(pending), "another leader knows since when");
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

#[test]
fn a_change_that_waits_for_its_turn_says_so_and_how_to_go_past_it() {
    let pending = PreflightStatus { verdict: PreflightVerdict::Pending, ..<_>::default() };
    let waiting = scene(State::Waiting(Box::new(pending)));
    let (status, reason, message) = waiting.said("Preflight");
    assert_eq!((status.as_str(), reason.as_str()), ("Unknown", "PreflightRunning"));
    assert!(message.contains("waits for its turn"), "{message}");
    assert!(message.contains("llamastack.io/preflight: skip"), "{message}");
    assert_eq!(waiting.short("Ready"), "False PreflightRunning");
}

#[test]
fn each_change_that_is_rolled_out_unchecked_is_told_although_the_same_is_said_of_it() {
    let skipped = |hash: &str| {
        let State::Checked(checked) = checked(PreflightVerdict::NotJudged, Vec::new()) else {
            unreachable!()
        };
        scene(State::Checked(PreflightStatus { hash: hash.into(), ..checked }))
    };
    let first = skipped("00000001");
    let applying = skipped("00000002").applying;
    assert_eq!(first.clone().next().events(), Vec::<&str>::new(), "it is told once");
    let second = first.next().with(|scene| scene.applying = applying);
    assert_eq!(second.events(), vec!["PreflightSkipped"]);
}
