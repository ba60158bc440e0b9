//! A change of a resource that must not cost it its server, its account or its data, and what the
//! cluster refuses to serve.

use kube::api::{Patch, PatchParams};
use llsd_testkit::{ControlPlane, InUse, PodState, WhileUsed, skip};
use serde_json::{Value, json};

use llsd_testbed::authority::authority;
use llsd_testbed::definitions;
use llsd_testbed::namespace::{DISTRIBUTION, Namespace, condition};
use llsd_testbed::neighbour;
use llsd_testbed::test_operator::TestOperator;

/// Pods with this label never become ready.
const STUCK: &str = "stuck";
const CLAIM: (&str, &str) = ("PersistentVolumeClaim", "llama-pvc");

struct World {
    operator: TestOperator,
    /// Why the cluster serves no Routes, if so.
    routes: Result<(), String>,
}

async fn world() -> Option<InUse<World>> {
    static WORLD: WhileUsed<World> = WhileUsed::new();
    let start = async || {
        let cluster = ControlPlane::builder().with_controller_manager().start_or_skip().await?;
        let routes = definitions::routes(&cluster.client()).await;
        let operator = TestOperator::within(cluster, &[]).await;
        operator.kubelet.decide(|pod| {
            let mut labels = pod.metadata.labels.iter().flatten();
            if labels.any(|(label, _)| label == STUCK) {
                PodState::NeverReady
            } else {
                PodState::Ready
            }
        });
        Some(World { operator, routes })
    };
    WORLD.get(start).await
}

impl World {
    /// A namespace, and one of somebody else.
    async fn namespaces(&self, prefix: &str) -> (Namespace<'_>, Namespace<'_>) {
        (self.operator.namespace(prefix).await, self.operator.namespace("neighbour").await)
    }
}

/// Asks for a server with more than its distribution.
async fn ask(namespace: &Namespace<'_>, more: &Value) {
    let mut spec = json!({"distribution": {"name": "starter"}});
    for (field, value) in more.as_object().unwrap() {
        spec[field] = value.clone();
    }
    namespace.distribution("llama", spec).await;
}

async fn until_ready(namespace: &Namespace<'_>) -> Value {
    namespace.until_ready("llama").await
}

/// Waits until the operator has worked on the resource as it is now.
async fn until_seen(namespace: &Namespace<'_>) -> Value {
    namespace
        .until(DISTRIBUTION, "llama", "was worked on", |now| {
            now["status"]["observedGeneration"] == now["metadata"]["generation"]
        })
        .await
}

/// An autoscaler never wakes a Deployment that has no pods.
#[tokio::test]
async fn a_server_at_zero_that_is_given_an_autoscaler_starts_with_its_fewest_pods() {
    let Some(world) = world().await else { return };
    let (namespace, others) = world.namespaces("woken").await;
    ask(&namespace, &json!({"workload": {"replicas": 0}})).await;
    until_ready(&namespace).await;
    let scaled = json!({"replicas": 0, "autoscaling": {"minReplicas": 2, "maxReplicas": 5}});
    ask(&namespace, &json!({"workload": scaled})).await;
    let number = |now: &Value| now["spec"]["replicas"].clone();
    namespace.until("Deployment", "llama", "has two pods", |now| number(now) == 2).await;
    let ready = until_ready(&namespace).await;
    assert_eq!(ready["status"]["availableReplicas"], 2, "{ready}");
    // Whoever sets it to zero meanwhile; any other number is the autoscaler's.
    namespace.patch("Deployment", "llama", &json!({"spec": {"replicas": 0}})).await;
    namespace.until("Deployment", "llama", "is woken again", |now| number(now) == 2).await;
    namespace.patch("Deployment", "llama", &json!({"spec": {"replicas": 4}})).await;
    neighbour::becomes_ready(&others).await;
    until_ready(&namespace).await;
    let deployment = namespace.get("Deployment", "llama").await.unwrap();
    assert_eq!(number(&deployment), 4);
}

#[tokio::test]
async fn the_operators_account_that_a_resource_names_itself_is_kept() {
    let Some(world) = world().await else { return };
    let (namespace, others) = world.namespaces("account").await;
    ask(&namespace, &json!({})).await;
    until_ready(&namespace).await;
    let before = namespace.get("ServiceAccount", "llama-sa").await.unwrap();
    let named = |name: &str| json!({"workload": {"overrides": {"serviceAccountName": name}}});
    ask(&namespace, &named("llama-sa")).await;
    until_ready(&namespace).await;
    neighbour::becomes_ready(&others).await;
    let after = namespace.get("ServiceAccount", "llama-sa").await.expect("the account is there");
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    // One that nothing names goes, once no pod runs as it.
    ask(&namespace, &named("default")).await;
    namespace.until_gone("ServiceAccount", "llama-sa").await;
}

/// v0.9 as a vendor builds it writes under another name than `manager`, and so may anybody.
#[tokio::test]
async fn a_claim_that_is_kept_is_freed_of_its_resource_whoever_tied_it() {
    let Some(world) = world().await else { return };
    let (namespace, others) = world.namespaces("claim").await;
    ask(&namespace, &json!({"workload": {"storage": {"size": "1Gi"}}})).await;
    namespace.until(CLAIM.0, CLAIM.1, "is there", |_| true).await;
    let resource = until_seen(&namespace).await;
    let owner = |controller: bool| {
        json!({
            "apiVersion": "llamastack.io/v1alpha1", "kind": DISTRIBUTION, "name": "llama",
            "uid": resource["metadata"]["uid"], "controller": controller,
        })
    };
    for controller in [true, false] {
        let patch = json!({"metadata": {"ownerReferences": [owner(controller)]}});
        let parameters =
            PatchParams { field_manager: Some("a-vendors-operator".into()), ..Default::default() };
        let api = namespace.api(CLAIM.0);
        api.patch(CLAIM.1, &parameters, &Patch::Merge(&patch)).await.unwrap();
        namespace
            .until(CLAIM.0, CLAIM.1, "belongs to nobody", |now| {
                now["metadata"]["ownerReferences"].as_array().is_none_or(Vec::is_empty)
            })
            .await;
    }
    neighbour::becomes_ready(&others).await;
    namespace.delete(DISTRIBUTION, "llama").await;
    namespace.until_gone("Deployment", "llama").await;
    let claim = namespace.get(CLAIM.0, CLAIM.1).await.expect("the data is kept");
    assert!(claim["metadata"]["deletionTimestamp"].is_null(), "{claim}");
}

#[tokio::test]
async fn what_pods_of_a_stuck_rollout_mount_is_kept() {
    let Some(world) = world().await else { return };
    let (namespace, others) = world.namespaces("rollout").await;
    namespace.config_map("authorities", json!({"ca-bundle.crt": authority("a")})).await;
    namespace.secret("database", json!({"url": "postgresql://stack:word@db:5432/stack"})).await;
    let connection = json!({"name": "database", "key": "url"});
    ask(
        &namespace,
        &json!({
            "networking": {"tls": {"caBundle": {"configMapName": "authorities"}}},
            "storage": {"sql": {"type": "postgres", "connectionString": connection}},
        }),
    )
    .await;
    until_ready(&namespace).await;
    let kept = [("ConfigMap", "llama-ca-bundle-"), ("Secret", "llama-storage-")];
    for (kind, name) in kept {
        assert!(namespace.find(kind, name).await.is_some(), "{kind} {name}");
    }
    let stuck = json!({"workload": {"overrides": {"podLabels": {STUCK: "yes"}}}});
    ask(&namespace, &stuck).await;
    until_seen(&namespace).await;
    neighbour::becomes_ready(&others).await;
    let stuck = namespace.get(DISTRIBUTION, "llama").await.unwrap();
    assert_eq!(condition(&stuck, "Ready")["status"], "False", "{stuck}");
    for (kind, name) in kept {
        assert!(namespace.find(kind, name).await.is_some(), "{kind} {name} is gone too early");
    }
}

#[tokio::test]
async fn a_route_that_no_router_admits_is_in_the_status() {
    let Some(world) = world().await else { return };
    let (namespace, others) = world.namespaces("route").await;
    if let Err(why) = &world.routes {
        return skip(why);
    }
    ask(&namespace, &json!({"networking": {"expose": {"hostname": "llama.example.com"}}})).await;
    until_ready(&namespace).await;
    let route = namespace.get("Route", "llama").await.unwrap();
    let timeout = &route["metadata"]["annotations"]["haproxy.router.openshift.io/timeout"];
    assert_eq!(*timeout, "1h", "{route}");
    admitted(&namespace, "False").await;
    let refused = namespace.until_condition("llama", "Ready", "False", "RouteNotAdmitted").await;
    let said = condition(&refused, "Ready")["message"].as_str().unwrap();
    assert_eq!(said, "Route llama: HostAlreadyClaimed: it belongs to another Route");
    assert_eq!(condition(&refused, "Stalled")["status"], "True");
    assert_eq!(condition(&refused, "Available")["status"], "True", "it serves in the cluster");
    namespace.until_event("llama", "RouteNotAdmitted", "HostAlreadyClaimed").await;
    neighbour::becomes_ready(&others).await;
    admitted(&namespace, "True").await;
    let ready = until_ready(&namespace).await;
    assert_eq!(ready["status"]["routeURL"], "https://llama.example.com");
}

/// What a router says of the Route.
async fn admitted(namespace: &Namespace<'_>, status: &str) {
    let condition = json!({
        "type": "Admitted", "status": status, "reason": "HostAlreadyClaimed",
        "message": "it belongs to another Route",
    });
    let answer = json!({
        "host": "llama.example.com", "routerName": "default", "wildcardPolicy": "None",
        "conditions": [condition],
    });
    let patch = json!({"status": {"ingress": [answer]}});
    let api = namespace.api("Route");
    api.patch_status("llama", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
}

/// An object that comes after the Deployment, and that the cluster does not take.
#[tokio::test]
async fn an_object_that_may_not_be_written_keeps_ready_false_although_the_server_runs() {
    let Some(world) = world().await else { return };
    let (namespace, others) = world.namespaces("refused").await;
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "no-budgets"},
        "spec": {"hard": {"count/poddisruptionbudgets.policy": "0"}},
    });
    namespace.apply(&quota.to_string()).await;
    ask(&namespace, &json!({})).await;
    until_ready(&namespace).await;
    ask(&namespace, &json!({"workload": {"podDisruptionBudget": {"minAvailable": 1}}})).await;
    let refused = namespace
        .until(DISTRIBUTION, "llama", "is not Ready", |now| {
            let ready = condition(now, "Ready");
            ready["status"] == "False"
                && ready["message"].as_str().is_some_and(|said| said.contains("llama-pdb"))
        })
        .await;
    assert_eq!(condition(&refused, "Available")["status"], "True");
    neighbour::becomes_ready(&others).await;
    ask(&namespace, &json!({})).await;
    until_ready(&namespace).await;
}
