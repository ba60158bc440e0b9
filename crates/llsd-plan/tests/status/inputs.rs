//! What is said of the resource itself: its configuration, its secrets, and what became of its
//! objects.

use llsd_plan::rollout::{KeepCause, Refused, Return};
use llsd_plan::status::TagNow;
use rstest::rstest;
use serde_json::json;

use crate::scene::{Scene, Step, keeping, unreachable_registry, without_the_secret};

#[test]
fn a_ready_resource_says_what_was_generated_and_resolved() {
    let scene = Scene::vllm();
    let plan = scene.plan();
    let counts = plan.generated.unwrap().counts;
    let (status, reason, message) = scene.said("ConfigGenerated");
    assert_eq!((status.as_str(), reason.as_str()), ("True", "ConfigGenerationSucceeded"));
    let others = counts.resources - counts.models;
    assert!(counts.models == 1 && others == 0, "{counts:?}");
    let expected = format!("Generated config.yaml with {} providers and 1 model", counts.providers);
    assert_eq!(message, expected);
    let (status, reason, message) = scene.said("SecretsResolved");
    assert_eq!((status.as_str(), reason.as_str()), ("True", "AllSecretsFound"));
    assert_eq!(message, "Resolved 1 secret reference");
    assert_eq!(scene.short("DeploymentUpdated"), "True DeploymentUpdated");
    assert_eq!(scene.short("Ready"), "True Ready");
}

#[test]
fn resources_that_are_no_models_are_counted_beside_them() {
    let scene = Scene::vllm().with(|scene| {
        scene.resource["spec"]["resources"]["shields"] = json!(["llama-guard"]);
    });
    let (_, _, message) = scene.said("ConfigGenerated");
    assert!(message.contains(" providers, 1 model and 1 other resource"), "{message}");
}

#[test]
fn the_certificate_of_the_server_is_one_reference() {
    let scene = Scene::vllm().with(|scene| {
        scene.resource["spec"]["networking"] =
            json!({ "tls": { "enabled": true, "secretName": "serving" } });
    });
    assert_eq!(scene.said("SecretsResolved").2, "Resolved 2 secret references");
}

#[rstest]
#[case::image(
    Scene::default_config(),
    "DefaultConfigUsed",
    "Using the configuration inside the image"
)]
#[case::own(
    Scene::with_spec(json!({
        "distribution": { "name": "starter" },
        "overrideConfig": { "configMapName": "mine" },
    })),
    "ConfigOverridden",
    "Using the configuration of ConfigMap mine"
)]
fn a_configuration_that_is_not_generated_is_told_by_its_source(
    #[case] scene: Scene,
    #[case] reason: &str,
    #[case] message: &str,
) {
    let expected = ("True".to_owned(), reason.to_owned(), message.to_owned());
    assert_eq!(scene.said("ConfigGenerated"), expected);
    assert_eq!(scene.said("SecretsResolved").2, "Resolved 0 secret references");
    assert_eq!(scene.short("Ready"), "True Ready");
    assert_eq!(scene.status().config_generation, None);
}

/// A table of refusals: what is wrong, and where it is told.
#[rstest]
#[case::secret(
    Scene::vllm().with_facts(without_the_secret()),
    "Unknown WaitingForSecrets", "False SecretNotFound", "False SecretNotFound"
)]
#[case::secret_key(
    Scene::vllm().with_facts(json!({ "secrets": { "vllm": { "keys": { "other": {} } } } })),
    "Unknown WaitingForSecrets", "False SecretKeyNotFound", "False SecretKeyNotFound"
)]
#[case::secret_value(
    Scene::vllm().with_facts(json!({ "secrets": { "vllm": { "keys": { "token": { "empty": true } } } } })),
    "Unknown WaitingForSecrets", "False SecretValueRejected", "False SecretValueRejected"
)]
#[case::secret_and_model(
    Scene::vllm().with_facts(without_the_secret()).with(|scene| {
        scene.resource["spec"]["resources"] = json!({ "models": [{ "name": "m", "provider": "no" }] });
    }),
    "False ConfigGenerationFailed", "False SecretNotFound", "False ConfigGenerationFailed"
)]
#[case::model(
    Scene::vllm().with(|scene| {
        scene.resource["spec"]["resources"] = json!({ "models": [{ "name": "m", "provider": "no" }] });
    }),
    "False ConfigGenerationFailed", "Unknown WaitingForConfig", "False ConfigGenerationFailed"
)]
#[case::config_map(
    Scene::with_spec(json!({
        "distribution": { "name": "starter" },
        "overrideConfig": { "configMapName": "mine" },
    })).with_facts(json!({ "configMaps": { "mine": { "missing": true } } })),
    "False ConfigMapNotFound", "Unknown WaitingForConfig", "False ConfigMapNotFound"
)]
#[case::labels(
    Scene::vllm().with_facts(json!({ "image": { "inspected": true } })).with(|scene| {
        scene.resource["spec"]["distribution"] = json!({ "image": "own/stack:1" });
    }),
    "False MissingConfigLabels", "Unknown WaitingForConfig", "False MissingConfigLabels"
)]
#[case::version(
    Scene::vllm().with_facts(json!({ "image": { "base": { "text": "version: 3\n", "source": "Labels" } } })),
    "False UnsupportedConfigVersion", "Unknown WaitingForConfig", "False UnsupportedConfigVersion"
)]
#[case::unreadable(
    Scene::vllm().with(|scene| scene.unreadable = true),
    "False InvalidResource", "Unknown WaitingForConfig", "False InvalidResource"
)]
fn a_refusal_is_told_where_it_belongs_and_waits_for_the_user(
    #[case] scene: Scene,
    #[case] config: &str,
    #[case] secrets: &str,
    #[case] ready: &str,
) {
    assert_eq!(scene.short("ConfigGenerated"), config);
    assert_eq!(scene.short("SecretsResolved"), secrets);
    assert_eq!(scene.short("Ready"), ready);
    assert_eq!(scene.short("Stalled"), ready.replace("False", "True"));
    assert_eq!(scene.short("Reconciling"), "-");
    assert_eq!(scene.short("DeploymentUpdated"), "False PlanningFailed");
    assert_eq!(scene.phase(), "Failed");
    // The server that runs is still told of.
    assert_eq!(scene.short("DeploymentReady"), "True DeploymentReady");
    assert_eq!(scene.short("Available"), "True ReplicasAvailable");
    assert_eq!(scene.short("HealthCheck"), "True HealthCheckPassed");
    assert_eq!(scene.status().available_replicas, Some(1));
}

#[test]
fn a_missing_secret_is_named_with_field_namespace_and_remedy() {
    let (_, _, message) = Scene::vllm().with_facts(without_the_secret()).said("SecretsResolved");
    assert_eq!(
        message,
        "spec.providers.inference.apiKey: Secret not found: vllm (namespace ai) (create the \
         Secret, or name one that exists)"
    );
}

#[test]
fn more_problems_than_a_condition_holds_are_counted() {
    let scene = Scene::vllm().with(|scene| {
        let provider = |number| format!("nobody-{number:060}");
        let model = |number| json!({ "name": format!("m{number}"), "provider": provider(number) });
        let models: Vec<_> = (0..256).map(model).collect();
        scene.resource["spec"]["resources"] = json!({ "models": models });
    });
    let (_, _, message) = scene.said("ConfigGenerated");
    assert!(message.len() <= 32 * 1024 && message.len() > 30 * 1024, "{}", message.len());
    let (told, more) = message.rsplit_once("; and ").unwrap();
    let more: usize = more.strip_suffix(" more").unwrap().parse().unwrap();
    assert_eq!(told.matches("there is no inference provider").count() + more, 256);
    assert!(told.ends_with(')'), "cut within a problem: {told}");
}

#[test]
fn a_registry_that_does_not_answer_is_tried_again() {
    let scene = unreachable_registry(Scene::vllm());
    assert_eq!(scene.short("ConfigGenerated"), "False RegistryUnavailable");
    assert_eq!(scene.short("Ready"), "False RegistryUnavailable");
    assert_eq!(scene.short("Reconciling"), "True RegistryUnavailable");
    assert_eq!(scene.short("Stalled"), "-");
    assert_eq!(scene.short("DeploymentReady"), "True DeploymentReady");
    assert_eq!(scene.phase(), "Initializing");
    assert!(scene.said("ConfigGenerated").2.contains("connection refused"));
    let first = scene.with(|scene| scene.live.deployment = None);
    assert_eq!(first.phase(), "Pending");
}

#[rstest]
#[case(Refused::NotOurs, "ObjectNotOurs", "Stalled", "Failed")]
#[case(Refused::Invalid, "ObjectRefused", "Stalled", "Failed")]
#[case(Refused::Denied, "ObjectRefused", "Stalled", "Failed")]
#[case(Refused::Unavailable, "ApplyFailed", "Reconciling", "Initializing")]
fn an_object_that_cannot_be_written_is_named(
    #[case] refused: Refused,
    #[case] reason: &str,
    #[case] beside: &str,
    #[case] phase: &str,
) {
    let scene = Scene::vllm()
        .with(|scene| scene.applying = Step::Failed("Service my-llama-service", refused));
    assert_eq!(scene.short("Ready"), format!("False {reason}"));
    assert_eq!(scene.said("Ready").2, "Service my-llama-service: it cannot be");
    assert_eq!(scene.short(beside), format!("True {reason}"));
    assert_eq!(scene.short("DeploymentUpdated"), format!("False {reason}"));
    assert_eq!(scene.short("ConfigGenerated"), "True ConfigGenerationSucceeded");
    assert_eq!(scene.short("DeploymentReady"), "True DeploymentReady");
    assert_eq!(scene.phase(), phase);
}

#[test]
fn a_deployment_that_cannot_be_written_is_not_updated() {
    let scene = Scene::vllm()
        .with(|scene| scene.applying = Step::Failed("Deployment my-llama", Refused::Invalid));
    assert_eq!(scene.short("DeploymentUpdated"), "False ObjectRefused");
    assert_eq!(scene.status().config_generation, None);
}

#[test]
fn an_object_after_the_deployment_does_not_make_the_deployment_old() {
    let scene = Scene::vllm().with(|scene| {
        scene.resource["spec"]["networking"] = json!({ "expose": true });
        scene.applying = Step::Failed("Ingress my-llama-ingress", Refused::NotOurs);
    });
    assert_eq!(scene.short("DeploymentUpdated"), "True DeploymentUpdated");
    assert_eq!(scene.short("Ready"), "False ObjectNotOurs");
    assert!(scene.status().config_generation.is_some());
}

#[test]
fn before_anything_is_applied_ready_is_there_and_unknown() {
    let scene = Scene::vllm().with(|scene| {
        scene.applying = Step::Nothing;
        scene.live = llsd_plan::status::ObservedObjects::default();
        scene.server = llsd_plan::status::ServerAnswer::NotAsked;
    });
    assert_eq!(scene.short("Ready"), "Unknown Applying");
    assert_eq!(scene.short("Reconciling"), "True Applying");
    assert_eq!(scene.short("DeploymentUpdated"), "Unknown Applying");
    assert_eq!(scene.phase(), "Pending");
    assert_eq!(scene.status().observed_generation, Some(3));
}

#[test]
fn a_resource_that_goes_says_only_that() {
    let before = Scene::vllm().next();
    let scene = before.clone().with(|scene| {
        scene.resource["metadata"]["deletionTimestamp"] = json!("2026-02-02T12:00:30Z");
        scene.applying = Step::Nothing;
    });
    assert_eq!(scene.phase(), "Terminating");
    assert_eq!(scene.short("Ready"), "False Terminating");
    assert_eq!((scene.short("Reconciling"), scene.short("Stalled")), ("-".into(), "-".into()));
    assert_eq!(scene.condition("ConfigGenerated"), before.condition("ConfigGenerated"));
    assert_eq!(scene.status().config_generation, before.status().config_generation);
    assert_eq!(scene.events(), Vec::<&str>::new());
}

#[test]
fn an_adopted_deployment_says_what_waits_and_how_it_is_applied() {
    let waiting = ["spec.template.spec.containers[0].image", "spec.template.metadata.annotations"];
    let scene = Scene::vllm().with(|scene| {
        scene.applying = keeping(KeepCause::Adopted, &waiting);
    });
    let (status, reason, message) = scene.said("UpdatePending");
    assert_eq!((status.as_str(), reason.as_str()), ("True", "AdoptedTemplateKept"));
    assert!(waiting.iter().all(|path| message.contains(path)), "{message}");
    assert!(message.contains("the spec or of the annotation llamastack.io/refresh"), "{message}");
    assert_eq!(scene.short("DeploymentUpdated"), "False AdoptedTemplateKept");
    assert_eq!(scene.short("Ready"), "True Ready");
    // A later mistake applies nothing, so the same still waits.
    let refused = scene.clone().next().with_facts(without_the_secret());
    assert_eq!(refused.short("Ready"), "False SecretNotFound");
    assert_eq!(refused.condition("UpdatePending"), scene.condition("UpdatePending"));
    // And once it is applied, nothing does.
    let done = scene.next().with(|scene| scene.applying = Step::Applied(Box::default()));
    assert_eq!(done.short("UpdatePending"), "-");
}

#[test]
fn a_newer_image_behind_the_tag_is_named() {
    let scene = Scene::vllm().with(|scene| scene.tag = TagNow::Moved("sha256:beef".into()));
    let (status, reason, message) = scene.said("UpdatePending");
    assert_eq!((status.as_str(), reason.as_str()), ("True", "NewerImage"));
    assert!(message.contains("sha256:beef"), "{message}");
    assert_eq!(scene.short("Ready"), "True Ready");
    // A registry that does not answer takes nothing back.
    let unknown = scene.clone().next().with(|scene| scene.tag = TagNow::Unknown);
    assert_eq!(unknown.condition("UpdatePending"), scene.condition("UpdatePending"));
    assert_eq!(scene.next().with(|scene| scene.tag = TagNow::Unmoved).short("UpdatePending"), "-");
}

#[test]
fn what_an_upgrade_of_the_operator_holds_back_is_listed_and_the_server_is_ready() {
    let scene = Scene::vllm().with(|scene| {
        scene.applying = keeping(KeepCause::Upgrade, &["spec.template.spec.volumes"]);
    });
    let (status, reason, message) = scene.said("UpdatePending");
    assert_eq!((status.as_str(), reason.as_str()), ("True", "TemplateKept"));
    assert!(message.contains("llsd rollout approve"), "{message}");
    assert!(message.ends_with("spec.template.spec.volumes"), "{message}");
    assert_eq!((scene.short("Ready"), scene.phase()), ("True Ready".into(), "Ready".into()));
    assert_eq!(scene.short("DeploymentUpdated"), "True DeploymentUpdated");
    assert!(scene.events().contains(&"UpdatePending"));
    let again = scene.next();
    assert_eq!(again.events(), Vec::<&str>::new(), "it is told once");
}

#[test]
fn a_change_that_failed_is_told_with_its_reason_and_how_to_try_again() {
    let (to, from, why) = ("5d4f8b".into(), "77c9".into(), "it timed out.".into());
    let back = Return { to, from, why, cause: "Unschedulable: Insufficient cpu.".into() };
    let scene = Scene::vllm()
        .with(|scene| scene.applying = keeping(KeepCause::RolledBack(back.clone()), &["spec"]));
    let (status, reason, message) = scene.said("RolledBack");
    assert_eq!((status.as_str(), reason.as_str()), ("True", "RolledBack"));
    let why = "(it timed out; its pod: Unschedulable: Insufficient cpu), and";
    for words in [why, "5d4f8b", "llamastack.io/retry", "Secrets and data are not"] {
        assert!(message.contains(words), "{message}");
    }
    assert_eq!(scene.short("Ready"), "False RolledBack");
    assert_eq!(scene.short("Stalled"), "True RolledBack");
    assert_eq!((scene.short("UpdatePending"), scene.phase()), ("-".into(), "Initializing".into()));
    assert!(scene.events().contains(&"RolledBack"));
    // Whoever asked for it has what they want.
    let asked = Return { to: "5d4f8b".into(), ..Return::default() };
    let scene = Scene::vllm()
        .with(|scene| scene.applying = keeping(KeepCause::RolledBack(asked.clone()), &["spec"]));
    assert_eq!(scene.short("RolledBack"), "True RollbackRequested");
    assert_eq!(scene.short("Ready"), "True Ready");
}
