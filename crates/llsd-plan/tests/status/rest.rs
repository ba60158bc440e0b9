//! What holds for every status: it rests while nothing changes, its conditions are complete and in
//! order, and those that tools wait for never contradict each other.

use llsd_api::v1alpha2::Phase;
use llsd_plan::live::DeploymentState;
use llsd_plan::problems::{FieldPath, Problem, Reason};
use llsd_plan::rollout::{KeepCause, Refused, Return};
use llsd_plan::status::{
    Applied, ConditionType, Limitation, ObservedObjects, ServerAnswer, TagNow,
};
use serde_json::json;

use crate::scene::{
    Scene, Step, answering, keeping, running, unreachable_registry, without_the_secret,
};

/// Every resource with every cluster and every server.
fn scenes() -> Vec<Scene> {
    let mut scenes = Vec::new();
    for resource in resources() {
        for live in clusters() {
            for server in servers() {
                scenes.push(resource.clone().with(|scene| {
                    scene.live = live.clone();
                    scene.server = server.clone();
                }));
            }
        }
    }
    scenes
}

fn resources() -> Vec<Scene> {
    let applied = |applied: Applied| {
        Scene::vllm().with(|scene| scene.applying = Step::Applied(Box::new(applied)))
    };
    let failed = |object, refused| {
        Scene::vllm().with(|scene| scene.applying = Step::Failed(object, refused))
    };
    let warning = Problem {
        path: FieldPath::spec().key("workload").key("storage").key("size"),
        reason: Reason::Ignored,
        message: "a volume cannot shrink".into(),
        remedy: "set the size that it has".into(),
    };
    vec![
        Scene::vllm(),
        Scene::default_config(),
        Scene::vllm().with(|scene| scene.resource["spec"]["disabled"] = json!(["safety", "eval"])),
        applied(Applied { written: vec!["Deployment my-llama".into()], ..Applied::default() }),
        Scene::vllm()
            .with(|scene| scene.applying = keeping(KeepCause::Adopted, &["spec.template"])),
        Scene::vllm()
            .with(|scene| scene.applying = keeping(KeepCause::Upgrade, &["spec.template"])),
        Scene::vllm().with(|scene| {
            scene.applying = keeping(KeepCause::RolledBack(Return::default()), &["spec.template"]);
        }),
        applied(Applied { warnings: vec![warning], ..Applied::default() }),
        applied(Applied { lost: vec!["start-program.0a1b".into()], ..Applied::default() }),
        Scene::vllm().with(|scene| scene.tag = TagNow::Moved("sha256:beef".into())),
        Scene::vllm().with(|scene| scene.applying = Step::Nothing),
        failed("Service my-llama-service", Refused::NotOurs),
        failed("Deployment my-llama", Refused::Invalid),
        failed("Deployment my-llama", Refused::Unavailable),
        failed("Service my-llama-service", Refused::Forbidden),
        Scene::vllm()
            .with(|scene| scene.limitations = vec![Limitation::NotWatched("routes".into())]),
        Scene::vllm().with_facts(without_the_secret()),
        Scene::vllm()
            .with(|scene| scene.resource["spec"]["distribution"] = json!({ "name": "no" })),
        unreachable_registry(Scene::vllm()),
        Scene::vllm().with(|scene| scene.unreadable = true),
        Scene::vllm().with(|scene| {
            scene.resource["metadata"]["deletionTimestamp"] = json!("2026-02-02T12:00:00Z");
        }),
    ]
}

fn clusters() -> Vec<ObservedObjects> {
    let with = |deployment| ObservedObjects {
        deployment: Some(deployment),
        service: true,
        ..ObservedObjects::default()
    };
    let stuck = Some(("ProgressDeadlineExceeded".to_owned(), "timed out".to_owned()));
    vec![
        ObservedObjects::default(),
        with(running(0)),
        ObservedObjects {
            claim: Some("Bound".into()),
            outside_url: Some(String::new()),
            ..with(running(2))
        },
        with(DeploymentState { replicas: 2, ..running(1) }),
        with(DeploymentState { stuck, ready: 0, available: 0, ..running(1) }),
        ObservedObjects {
            pod_trouble: Some("CrashLoopBackOff: back-off 10s".into()),
            ..with(DeploymentState { ready: 0, available: 0, ..running(1) })
        },
    ]
}

fn servers() -> Vec<ServerAnswer> {
    vec![
        ServerAnswer::NotAsked,
        ServerAnswer::Awaited,
        ServerAnswer::Unreachable("timed out".into()),
        ServerAnswer::Untrusted("another certificate".into()),
        answering(&[("inference", "vllm"), ("files", "localfs")]),
    ]
}

#[test]
fn a_status_rests_while_nothing_changes() {
    for scene in scenes() {
        let first = scene.status();
        let later = scene.next();
        let second = later.report();
        assert_eq!(second.status, first);
        assert_eq!(second.events, vec![]);
        assert_eq!(later.next().report(), second);
    }
}

#[test]
fn a_time_changes_with_the_condition_that_it_stamps_and_no_other() {
    let scenes: Vec<Scene> = scenes().into_iter().step_by(7).collect();
    for from in &scenes {
        let before = from.status();
        for to in &scenes {
            let later = from.clone().next();
            let mut to = to.clone();
            to.resource["status"] = later.resource["status"].clone();
            to.now = later.now;
            for now in to.status().conditions.unwrap() {
                let before = before.conditions.iter().flatten();
                let before = before.into_iter().find(|known| known.type_ == now.type_);
                let same = before.is_some_and(|before| before.status == now.status);
                let expected = if same { from.now } else { to.now };
                assert_eq!(now.last_transition_time.0, expected, "{}", now.type_);
            }
        }
    }
}

#[test]
fn conditions_are_complete_in_order_and_of_this_generation() {
    let order: Vec<&str> = ConditionType::ALL.iter().map(|known| known.as_str()).collect();
    let always = [
        "Ready",
        "ConfigGenerated",
        "SecretsResolved",
        "DeploymentUpdated",
        "Available",
        "DeploymentReady",
        "HealthCheck",
        "ServiceReady",
    ];
    for scene in scenes() {
        let deleting = scene.resource["metadata"]["deletionTimestamp"].is_string();
        let status = scene.status();
        assert_eq!(status.observed_generation, Some(3));
        let conditions = status.conditions.unwrap();
        let names: Vec<&str> =
            conditions.iter().map(|condition| condition.type_.as_str()).collect();
        let places = names.iter().map(|name| order.iter().position(|known| known == name).unwrap());
        assert!(places.is_sorted(), "{names:?}");
        assert!(deleting || always.iter().all(|name| names.contains(name)), "{names:?}");
        for condition in &conditions {
            assert_eq!(condition.observed_generation, Some(3));
            assert!(["True", "False", "Unknown"].contains(&condition.status.as_str()));
            assert!(!condition.reason.is_empty() && !condition.message.is_empty(), "{condition:?}");
        }
    }
}

#[test]
fn tools_that_wait_never_see_a_contradiction() {
    for scene in scenes() {
        let deleting = scene.resource["metadata"]["deletionTimestamp"].is_string();
        let there = |name: &str| scene.condition(name).is_some();
        let ready = scene.said("Ready").0 == "True";
        for only_while_true in ["Reconciling", "Stalled", "UpdatePending"] {
            let condition = scene.condition(only_while_true);
            assert!(condition.is_none_or(|condition| condition.status == "True"));
        }
        assert!(!(there("Reconciling") && there("Stalled")));
        assert_eq!(ready || deleting, !(there("Reconciling") || there("Stalled")));
        let phase = scene.status().phase.unwrap();
        assert_eq!(ready, phase == Phase::Ready);
        assert_eq!(deleting, phase == Phase::Terminating);
        if ready {
            assert_eq!(scene.said("DeploymentReady").0, "True");
            assert_eq!(scene.said("ConfigGenerated").0, "True");
            assert_eq!(scene.said("SecretsResolved").0, "True");
        }
    }
}
