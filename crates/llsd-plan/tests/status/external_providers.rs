//! How far each external provider is, by what its pod and its server really do.

use llsd_plan::live::installation::Installation;
use llsd_plan::status::TagNow;
use rstest::rstest;
use serde_json::{Value, json};

use super::scene::{Scene, answering};

const IMAGE: &str = "registry.example.com/acme:1";

/// With one provider, of whose image this is known.
fn scene(known: &Value) -> Scene {
    let mut facts = json!({"externalProviders": {}});
    facts["externalProviders"][IMAGE] = known.clone();
    Scene::with_spec(json!({
        "distribution": {"name": "starter"},
        "externalProviders": {"inference": [{"providerId": "acme", "image": IMAGE}]},
    }))
    .with_facts(facts)
}

fn good() -> Scene {
    scene(&json!({
        "digest": "sha256:0", "api": "inference", "providerType": "remote::acme", "module": "acme",
    }))
}

/// A rollout under way, whose newest pod has this.
fn installing(installation: Option<Installation>) -> Scene {
    good()
        .with_deployment(|deployment| {
            deployment.updated = 0;
            deployment.available = 0;
            deployment.ready = 0;
        })
        .with(|scene| {
            scene.live.installations =
                installation.map(|it| ("install-acme".to_owned(), it)).into_iter().collect();
        })
}

/// Phase and message.
fn told(scene: &Scene) -> (String, String) {
    let all = scene.status().external_providers.expect("it is told");
    let [one] = &all[..] else { panic!("{all:?}") };
    assert_eq!(one.provider_id, "acme");
    assert_eq!(one.init_container_name, "install-acme");
    (format!("{:?}", one.phase), one.message.clone().unwrap_or_default())
}

#[rstest]
#[case(None, "Pending", "no pod was looked at yet")]
#[case(Some(Installation::Waiting), "Pending", "")]
#[case(Some(Installation::Running), "Installing", "")]
#[case(Some(Installation::Done), "Installing", "installed; the server starts")]
#[case(
    Some(Installation::Failed("a.whl: it is made for another Python".into())),
    "Failed",
    "install-acme: a.whl: it is made for another Python"
)]
fn while_a_pod_comes_up_its_init_container_counts(
    #[case] installation: Option<Installation>,
    #[case] phase: &str,
    #[case] message: &str,
) {
    assert_eq!(told(&installing(installation)), (phase.to_owned(), message.to_owned()));
}

#[test]
fn once_the_server_runs_its_list_of_providers_counts() {
    let listed = good().with(|scene| scene.server = answering(&[("inference", "acme")]));
    assert_eq!(told(&listed), ("Ready".into(), String::new()));
    let image = listed.status().external_providers.unwrap().remove(0).image;
    assert_eq!(image, format!("{IMAGE}@sha256:0"));
    let absent = good().with(|scene| scene.server = answering(&[("inference", "other")]));
    let (phase, message) = told(&absent);
    assert_eq!(phase, "Failed");
    assert!(message.contains("get_provider_spec()"), "{message}");
    // A server that does not answer for a moment is the one that answered before.
    let since = listed.status().external_providers.unwrap().remove(0).last_transition_time;
    let quiet = listed.next().with(|scene| scene.server = <_>::default());
    assert_eq!(told(&quiet).0, "Ready");
    let now = quiet.status().external_providers.unwrap().remove(0).last_transition_time;
    assert_eq!(now, since, "the phase has not changed");
}

#[test]
fn what_is_wrong_with_the_image_is_said_of_the_provider() {
    let missing = scene(&json!({"digest": "sha256:0"}));
    let (phase, message) = told(&missing);
    assert_eq!(phase, "Failed");
    let words = format!("Missing /lls-provider/lls-provider-spec.yaml in image {IMAGE}");
    assert!(message.contains(&words), "{message}");
    let away = scene(&json!({"unavailable": "connection refused"}));
    let (phase, message) = told(&away);
    assert_eq!(phase, "Pending");
    assert!(message.contains("connection refused"), "{message}");
}

#[test]
fn without_external_providers_there_is_nothing_to_tell() {
    assert_eq!(Scene::vllm().status().external_providers, None);
}

#[test]
fn a_newer_image_of_a_provider_is_named_beside_the_servers_own() {
    let moved =
        |server: TagNow| server.beside(vec![(IMAGE.into(), TagNow::Moved("sha256:1".into()))]);
    let message = |tag: TagNow| good().with(|scene| scene.tag = tag).said("UpdatePending").2;
    let own = message(moved(TagNow::Unmoved));
    let expected = format!("The tag of the provider image {IMAGE} points to sha256:1 by now; ");
    assert!(own.starts_with(&expected), "{own}");
    let both = message(moved(TagNow::Moved("sha256:2".into())));
    assert!(both.starts_with("The image's tag points to sha256:2, the tag of"), "{both}");
    let unknown = TagNow::Unmoved.beside(vec![(IMAGE.into(), TagNow::Unknown)]);
    assert_eq!(unknown, TagNow::Unknown);
}
