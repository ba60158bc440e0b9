//! What v0.9 made is taken over as it runs: nothing restarts until its resource changes, then
//! nothing of v0.9 is left, and data outlives the resource.

use std::time::Duration;

use llsd_install::names;
use llsd_testkit::skip;
use serde_json::{Value, json};

use llsd_testbed::access::eventually;
use llsd_testbed::namespace::{Namespace, condition};
use llsd_testbed::v0_9::installation::managers;
use llsd_testbed::v0_9::stage::{Before, NAME, Stage};

const RESOURCE: &str = "LlamaStackDistribution";
const OURS: [&str; 1] = ["llama-stack-operator Apply"];

/// Waits until the Deployment is taken over and its resource Ready.
async fn until_waiting(namespace: &Namespace<'_>) -> Value {
    namespace.until_condition(NAME, "UpdatePending", "True", "AdoptedTemplateKept").await;
    namespace.until_ready(NAME).await
}

/// Waits until the Deployment is what we apply, and gives it.
async fn until_ours(namespace: &Namespace<'_>) -> Value {
    namespace
        .until(RESOURCE, NAME, "runs as planned", |object| {
            condition(object, "DeploymentUpdated")["status"] == "True"
                && condition(object, "UpdatePending").is_null()
                && condition(object, "Ready")["status"] == "True"
                && object["status"]["observedGeneration"] == object["metadata"]["generation"]
        })
        .await;
    let deployment = namespace.get("Deployment", NAME).await.unwrap();
    assert_eq!(own(&deployment), OURS, "{deployment}");
    let annotations = &deployment["metadata"]["annotations"];
    assert!(annotations.get("llamastack.io/adopted").is_none(), "{annotations}");
    let text = deployment.to_string();
    for old in ["OLD", "user-config", "starter:old", "initialDelaySeconds\":15"] {
        assert!(!text.contains(old), "{old}: {deployment}");
    }
    deployment
}

/// Managers of an object, but for those of Kubernetes itself, and for the one of ours that holds a
/// number for an autoscaler.
fn own(object: &Value) -> Vec<String> {
    let mut managers = managers(object);
    let is_known = |manager: &&str| {
        manager.starts_with("kube-controller-manager")
            || *manager == "llama-stack-operator-replicas Apply"
    };
    managers.retain(|manager| !is_known(&manager.as_str()));
    managers
}

async fn change(namespace: &Namespace<'_>, workload: &Value) {
    namespace.patch(RESOURCE, NAME, &json!({"spec": {"workload": workload}})).await;
}

#[tokio::test]
async fn all_that_v0_9_made_is_ours_at_once_and_nothing_restarts_until_the_resource_changes() {
    let Some(stage) = Stage::shared().await else { return };
    let (namespace, before) = stage.namespace("everything");
    let resource = until_waiting(&namespace).await;
    let pending = condition(&resource, "UpdatePending")["message"].as_str().unwrap();
    let image = "spec.template.spec.containers[llama-stack].image";
    assert!(pending.contains(image), "{pending}");
    let uid = &resource["metadata"]["uid"];
    for (kind, suffix) in [
        ("ServiceAccount", "-sa"),
        ("NetworkPolicy", "-network-policy"),
        ("Service", "-service"),
        ("PodDisruptionBudget", "-pdb"),
        ("HorizontalPodAutoscaler", "-hpa"),
        ("Ingress", "-ingress"),
    ] {
        let object = namespace.get(kind, &format!("{NAME}{suffix}")).await.unwrap();
        assert_eq!(own(&object), OURS, "{object}");
        assert_eq!(object["metadata"]["ownerReferences"][0]["uid"], *uid, "{object}");
        assert_eq!(object["metadata"]["labels"]["app.kubernetes.io/instance"], NAME, "{object}");
    }
    let service = namespace.get("Service", "llama-service").await.unwrap();
    assert_eq!(service["spec"]["ports"].as_array().unwrap().len(), 1, "{service}");
    let budget = namespace.get("PodDisruptionBudget", "llama-pdb").await.unwrap();
    assert_eq!(budget["spec"].get("minAvailable"), None, "{budget}");
    assert_eq!(budget["spec"]["maxUnavailable"], 1, "{budget}");
    let claim = namespace.get("PersistentVolumeClaim", "llama-pvc").await.unwrap();
    assert_eq!(claim["metadata"].get("ownerReferences"), None, "{claim}");
    let deployment = namespace.get("Deployment", NAME).await.unwrap();
    assert_eq!(deployment["metadata"]["annotations"]["llamastack.io/adopted"], "true");
    assert_eq!(Before::now(&namespace).await, *before);

    change(&namespace, &json!({"overrides": {"env": [{"name": "NEW", "value": "1"}]}})).await;
    let deployment = until_ours(&namespace).await;
    let after = Before::now(&namespace).await;
    assert_eq!(after.deployment, before.deployment, "the same Deployment");
    assert!(after.pods.is_disjoint(&before.pods), "with new pods");
    assert_eq!(deployment["spec"]["replicas"], 2, "as many as the autoscaler had");
    assert!(deployment.to_string().contains(r#""name":"NEW""#), "{deployment}");
}

#[tokio::test]
async fn an_adopted_ingress_stays_one_where_routes_are_served() {
    let Some(stage) = Stage::shared().await else { return };
    if let Err(why) = &stage.routes {
        return skip(why);
    }
    let (namespace, _) = stage.namespace("everything");
    namespace.until("Ingress", "llama-ingress", "is ours", |ingress| own(ingress) == OURS).await;
    namespace.until_ready(NAME).await;
    assert!(namespace.list("Route").await.is_empty());
    // Where there is no Ingress yet, the same resource gets a Route.
    let new =
        Namespace { cluster: &stage.cluster, name: stage.cluster.namespace("new").await.unwrap() };
    let spec = json!({"distribution": {"name": "starter"}, "networking": {"expose": true}});
    new.distribution(NAME, spec).await;
    new.until_ready(NAME).await;
    assert_eq!(new.list("Route").await.len(), 1);
    assert!(new.list("Ingress").await.is_empty());
}

#[tokio::test]
async fn a_restarted_operator_writes_nothing_while_an_adopted_deployment_waits() {
    let Some(stage) = Stage::shared().await else { return };
    let (namespace, before) = stage.namespace("waiting");
    until_waiting(&namespace).await;
    let audit = stage.cluster.audit();
    let mark = namespace.quiet(&stage.user).await;
    let requests = async || {
        let requests = audit.requests_of(&stage.user).await.unwrap().since(mark);
        requests.only(|request| request.namespace == namespace.name)
    };
    stage.restart().await;
    eventually("the restarted operator looked at the Deployment", async || {
        !requests().await.only(|request| request.resource == "deployments").is_empty()
    })
    .await;
    // Nothing tells that nothing follows.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let writes = requests().await.writes();
    assert!(writes.is_empty(), "{:?}", writes.by_verb_and_resource());
    assert_eq!(Before::now(&namespace).await, *before);
}

#[tokio::test]
async fn the_annotation_refresh_alone_applies_what_waits() {
    let Some(stage) = Stage::shared().await else { return };
    let (namespace, before) = stage.namespace("refreshed");
    until_waiting(&namespace).await;
    assert_eq!(Before::now(&namespace).await, *before);
    let refresh = json!({"metadata": {"annotations": {"llamastack.io/refresh": "now"}}});
    namespace.patch(RESOURCE, NAME, &refresh).await;
    until_ours(&namespace).await;
    let after = Before::now(&namespace).await;
    assert_eq!(after.deployment, before.deployment);
    assert!(after.pods.is_disjoint(&before.pods));
}

#[tokio::test]
async fn an_edit_of_the_image_overrides_applies_what_waits_where_it_names_the_distribution() {
    let Some(stage) = Stage::shared().await else { return };
    let (namespace, before) = stage.namespace("overridden");
    let (other, _) = stage.namespace("waiting");
    until_waiting(&namespace).await;
    until_waiting(&other).await;
    let untouched = Before::now(&other).await;
    let image = "mirror.invalid/remote-vllm:1";
    let operators = Namespace { cluster: &stage.cluster, name: names::NAMESPACE.to_owned() };
    let overrides = json!({"image-overrides": format!("remote-vllm: {image}")});
    operators.config_map(names::CONFIG_MAP, overrides).await;
    let deployment = until_ours(&namespace).await;
    assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0]["image"], image);
    assert!(Before::now(&namespace).await.pods.is_disjoint(&before.pods));
    assert_eq!(Before::now(&other).await, untouched);
}

#[tokio::test]
async fn a_deployment_whose_owner_v0_9_forgot_is_taken_over_too() {
    let Some(stage) = Stage::shared().await else { return };
    let (namespace, before) = stage.namespace("orphan");
    let resource = until_waiting(&namespace).await;
    let deployment = namespace.get("Deployment", NAME).await.unwrap();
    let owner = &deployment["metadata"]["ownerReferences"][0];
    assert_eq!(owner["uid"], resource["metadata"]["uid"], "{deployment}");
    assert_eq!(Before::now(&namespace).await, *before);
    change(&namespace, &json!({"replicas": 2})).await;
    until_ours(&namespace).await;
    namespace.delete(RESOURCE, NAME).await;
    namespace.until_gone("Deployment", NAME).await;
}

#[tokio::test]
async fn a_server_that_rolled_its_pods_can_be_given_a_volume() {
    let Some(stage) = Stage::shared().await else { return };
    let (namespace, before) = stage.namespace("volume");
    until_waiting(&namespace).await;
    let strategy = &namespace.get("Deployment", NAME).await.unwrap()["spec"]["strategy"];
    assert_eq!(strategy["type"], "RollingUpdate");
    change(&namespace, &json!({"storage": {"size": "1Gi"}})).await;
    let deployment = until_ours(&namespace).await;
    assert_eq!(deployment["spec"]["strategy"], json!({"type": "Recreate"}));
    assert_eq!(Before::now(&namespace).await.deployment, before.deployment);
}

#[tokio::test]
async fn an_adopted_claim_outlives_its_resource_and_serves_the_next_of_that_name() {
    let Some(stage) = Stage::shared().await else { return };
    let (namespace, _) = stage.namespace("kept");
    until_waiting(&namespace).await;
    let claim = namespace.get("PersistentVolumeClaim", "llama-pvc").await.unwrap();
    assert_eq!(claim["metadata"].get("ownerReferences"), None, "{claim}");
    namespace.delete(RESOURCE, NAME).await;
    for (kind, name) in
        [("Deployment", NAME), ("Service", "llama-service"), ("ServiceAccount", "llama-sa")]
    {
        namespace.until_gone(kind, name).await;
    }
    let spec = json!({
        "distribution": {"name": "starter"}, "workload": {"storage": {"size": "10Gi"}},
    });
    namespace.distribution(NAME, spec).await;
    namespace.until_ready(NAME).await;
    let kept = namespace.get("PersistentVolumeClaim", "llama-pvc").await.unwrap();
    assert_eq!(kept["metadata"]["uid"], claim["metadata"]["uid"]);
    assert_eq!(kept["metadata"].get("deletionTimestamp"), None, "{kept}");
    let deployment = namespace.get("Deployment", NAME).await.unwrap();
    assert!(deployment.to_string().contains(r#""claimName":"llama-pvc""#), "{deployment}");
}

#[tokio::test]
async fn an_adopted_claim_goes_with_a_resource_that_asks_for_it() {
    let Some(stage) = Stage::shared().await else { return };
    let (namespace, _) = stage.namespace("deleted");
    let resource = until_waiting(&namespace).await;
    let claim = namespace.get("PersistentVolumeClaim", "llama-pvc").await.unwrap();
    let owner = &claim["metadata"]["ownerReferences"][0];
    assert_eq!(owner["uid"], resource["metadata"]["uid"], "{claim}");
    namespace.delete(RESOURCE, NAME).await;
    namespace.until_gone("PersistentVolumeClaim", "llama-pvc").await;
}

/// v0.9 ignores a size that changes. Here the claim cannot grow either, not being bound.
#[tokio::test]
async fn an_adopted_claim_that_cannot_grow_is_still_kept_from_deletion() {
    let Some(stage) = Stage::shared().await else { return };
    let (namespace, _) = stage.namespace("bigger");
    let resource = until_waiting(&namespace).await;
    let claim = namespace.get("PersistentVolumeClaim", "llama-pvc").await.unwrap();
    assert_eq!(claim["metadata"].get("ownerReferences"), None, "{claim}");
    assert_eq!(claim["spec"]["resources"]["requests"]["storage"], "10Gi");
    assert_eq!(own(&claim), OURS, "{claim}");
    let said = condition(&resource, "DeploymentUpdated")["message"].as_str().unwrap();
    assert!(said.contains("spec.workload.storage.size"), "{said}");
    assert!(said.contains("the volume stays at 10Gi"), "{said}");
}
