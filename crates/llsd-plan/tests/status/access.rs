//! What the operator may not do, or the cluster does not serve, as a resource that needs it tells.

use llsd_plan::rollout::{Refused, WriteFailure};
use llsd_plan::status::{Applied, Limitation, ObservedObjects};
use serde_json::{Value, json};

use crate::scene::{Scene, Step};

const PODS: &str = "the operator may not list pods in namespace ai: ClusterRole manager lacks it";

fn limited(scene: Scene) -> Scene {
    scene.with(|scene| scene.limitations = vec![Limitation::Forbidden(PODS.to_owned())])
}

fn names_of_events(scene: &Scene) -> Vec<&'static str> {
    scene.report().events.iter().map(|event| event.reason).collect()
}

#[test]
fn a_right_that_is_lacking_is_told_once_and_costs_a_running_server_nothing() {
    let scene = Scene::vllm().next();
    assert_eq!(scene.condition("AccessLimited"), None);
    let scene = limited(scene);
    assert_eq!(scene.said("AccessLimited"), ("True".into(), "Forbidden".into(), PODS.into()));
    assert_eq!(scene.short("Ready"), "True Ready");
    assert_eq!(names_of_events(&scene), ["AccessLimited"]);
    let later = scene.next();
    assert!(names_of_events(&later).is_empty(), "it is known");
    let granted = later.with(|scene| scene.limitations.clear());
    assert_eq!(granted.condition("AccessLimited"), None);
}

#[test]
fn rights_come_before_what_is_not_watched_and_each_is_said_once() {
    let scene = Scene::vllm().with(|scene| {
        let slow = Limitation::NotWatched("the API server does not list routes".to_owned());
        let pods = Limitation::Forbidden(PODS.to_owned());
        scene.limitations = vec![slow, pods.clone(), pods];
    });
    let (_, reason, message) = scene.said("AccessLimited");
    assert_eq!(reason, "Forbidden");
    assert_eq!(message, format!("{PODS}; the API server does not list routes"));
}

#[test]
fn an_object_that_may_not_be_written_is_told_by_ready_and_by_access_limited() {
    let scene = Scene::vllm().with(|scene| {
        scene.applying = Step::Failed("NetworkPolicy my-llama-network-policy", Refused::Forbidden);
    });
    assert_eq!(scene.short("Ready"), "False Forbidden");
    assert_eq!(scene.short("Stalled"), "True Forbidden");
    assert_eq!(scene.short("AccessLimited"), "True Forbidden");
}

#[test]
fn an_object_that_could_not_be_deleted_keeps_a_resource_from_being_ready() {
    let undeleted = |refused| {
        let (object, message) = ("Ingress my-llama-ingress".to_owned(), "no".to_owned());
        let undeleted = vec![WriteFailure { object, message, refused }];
        Scene::vllm().with(|scene| {
            scene.applying = Step::Applied(Box::new(Applied { undeleted, ..Applied::default() }));
        })
    };
    assert_eq!(undeleted(Refused::Forbidden).short("Ready"), "False Forbidden");
    let (status, reason, message) = undeleted(Refused::Unavailable).said("Ready");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "NotDeleted"));
    assert_eq!(message, "Ingress my-llama-ingress is no longer asked for and still there: no");
}

/// With all that the cluster serves, and nothing else known of it.
fn behind_a_gateway(facts: &Value) -> Scene {
    let mut all = json!({"complete": true});
    all.as_object_mut().unwrap().extend(facts.as_object().unwrap().clone());
    Scene::with_spec(json!({
        "distribution": {"name": "starter"},
        "networking": {"expose": {"gateway": {"name": "public"}}},
    }))
    .with_facts(all)
}

#[test]
fn a_kind_that_is_not_served_keeps_nothing_else_from_being_applied() {
    let scene = behind_a_gateway(&json!({}));
    let plan = scene.plan();
    assert_eq!(plan.objects.http_route, None);
    let (status, reason, message) = scene.said("Ready");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "KindNotServed"));
    assert!(
        message.starts_with("spec.networking.expose.gateway: the cluster does not serve HTTPRoute"),
        "{message}"
    );
    assert_eq!(scene.short("Stalled"), "True KindNotServed");
    assert_eq!(scene.short("DeploymentUpdated"), "True DeploymentUpdated");
    assert!(names_of_events(&scene).contains(&"KindNotServed"));
    assert!(names_of_events(&scene.next()).is_empty());

    let unknown = behind_a_gateway(&json!({"unknownApis": ["gateway.networking.k8s.io"]}));
    assert_eq!(unknown.short("Ready"), "False KindNotServed");
    assert_eq!(unknown.short("Reconciling"), "True KindNotServed", "the cluster is asked again");
    let served =
        behind_a_gateway(&json!({"servedApis": ["gateway.networking.k8s.io/v1/httproutes"]}));
    assert!(served.plan().objects.http_route.is_some());
    assert_eq!(served.short("Ready"), "True Ready");
}

/// Under which ids pods run follows from it, and a wrong guess would restart them.
#[test]
fn nothing_is_planned_while_the_cluster_cannot_tell_whether_it_picks_ids() {
    let facts = json!({"complete": true, "unknownApis": ["security.openshift.io"]});
    let scene = Scene::default_config().with_facts(facts);
    let (status, _, message) = scene.said("ConfigGenerated");
    assert_eq!(status, "False");
    assert!(message.contains("security.openshift.io/v1/securitycontextconstraints"), "{message}");
}

#[test]
fn what_cannot_be_looked_at_stands_as_it_was() {
    let before = Scene::vllm().next();
    let available = before.said("Available");
    let hindered = limited(before).with(|scene| {
        scene.hindered = true;
        scene.live = ObservedObjects::default();
    });
    assert_eq!(hindered.short("Ready"), "False Forbidden");
    assert_eq!(hindered.said("Available"), available);
    assert_eq!(hindered.status().available_replicas, Some(1));
    assert_eq!(hindered.said("AccessLimited").2, PODS);
    assert_eq!(names_of_events(&hindered), ["AccessLimited"]);
    let rests = hindered.clone().next();
    assert_eq!(rests.status(), hindered.status());
}

#[test]
fn secrets_and_config_maps_that_may_not_be_read_are_told_by_their_field() {
    let forbidden = json!({"forbidden": "the operator may not get secrets in namespace ai"});
    let scene = Scene::vllm().with_facts(json!({"secrets": {"vllm": forbidden}}));
    let (status, reason, message) = scene.said("SecretsResolved");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "Forbidden"));
    assert!(
        message.contains("apiKey: Secret vllm cannot be read: the operator may not get secrets"),
        "{message}"
    );
    let forbidden = json!({"forbidden": "the operator may not get configmaps in namespace ai"});
    let own = json!({
        "distribution": {"name": "starter"}, "overrideConfig": {"configMapName": "mine"},
    });
    for (spec, config_map) in [
        (own, "mine"),
        // Nobody named it, but a server that trusts it must not lose it by a lost right.
        (json!({"distribution": {"name": "starter"}}), "odh-trusted-ca-bundle"),
    ] {
        let scene =
            Scene::with_spec(spec).with_facts(json!({"configMaps": {config_map: forbidden}}));
        assert_eq!(scene.short("ConfigGenerated"), "False Forbidden", "{config_map}");
    }
}
