//! A cluster in which v0.9 worked until a moment ago: several resources with its objects and their
//! pods. Then this operator was started.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join_all;
use llsd_install::names;
use llsd_testkit::{ControlPlane, InUse, Kubelet, PodState, WhileUsed};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::installation::Installation;
use crate::authority::authority;
use crate::cluster_pool::ClusterPool;
use crate::definitions;
use crate::namespace::Namespace;
use crate::operator::Operator;

/// The resource of every namespace.
pub const NAME: &str = "llama";
/// Alone, so that a restart does not wait for a lease to run out.
const ARGUMENTS: [&str; 1] = ["--leader-elect=false"];

#[derive(Debug)]
pub struct Stage {
    pub operator: Mutex<Operator>,
    _kubelet: Kubelet,
    pub user: String,
    /// Why the cluster serves no Routes, if so.
    pub routes: Result<(), String>,
    namespaces: BTreeMap<&'static str, StagedNamespace>,
    pub cluster: ClusterPool,
}

#[derive(Debug)]
struct StagedNamespace {
    name: String,
    before: Before,
}

/// What was there before this operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Before {
    pub deployment: String,
    pub template: String,
    pub replica_sets: BTreeSet<String>,
    pub pods: BTreeSet<String>,
}

impl Before {
    /// The same things as they are now.
    pub async fn now(namespace: &Namespace<'_>) -> Self {
        let deployment = namespace.get("Deployment", NAME).await.unwrap();
        let uids = async |kind| {
            let listed = namespace.list(kind).await;
            listed.iter().map(|object| object["metadata"]["uid"].to_string()).collect()
        };
        Self {
            deployment: deployment["metadata"]["uid"].to_string(),
            template: deployment["spec"]["template"].to_string(),
            replica_sets: uids("ReplicaSet").await,
            pods: uids("Pod").await,
        }
    }
}

impl Stage {
    pub async fn shared() -> Option<InUse<Self>> {
        static SHARED: WhileUsed<Stage> = WhileUsed::new();
        SHARED.get(Self::set).await
    }

    async fn set() -> Option<Self> {
        let cluster = ClusterPool::get_or_skip().await?;
        let user = cluster.user.clone();
        let kubelet = cluster.kubelet(|_| PodState::Ready).await.unwrap();
        let routes = definitions::routes(&cluster.client()).await;
        let namespaces = specs()
            .into_iter()
            .map(async |(purpose, spec)| (purpose, set(&cluster, purpose, &spec).await));
        let namespaces = join_all(namespaces).await.into_iter().collect();
        let operator = Operator::start(&cluster, &user, names::NAMESPACE, &ARGUMENTS);
        let operator = Mutex::new(operator);
        Some(Self { operator, _kubelet: kubelet, user, routes, namespaces, cluster })
    }

    /// The namespace that was set for a purpose, and what was in it.
    pub fn namespace(&self, purpose: &str) -> (Namespace<'_>, &Before) {
        let StagedNamespace { name, before } = &self.namespaces[purpose];
        (Namespace { cluster: &self.cluster, name: name.clone() }, before)
    }

    /// Ends the operator as a crash would, and starts it again.
    pub async fn restart(&self) {
        let mut operator = self.operator.lock().await;
        operator.kill();
        *operator = Operator::start(&self.cluster, &self.user, names::NAMESPACE, &ARGUMENTS);
    }
}

/// The resources, by what becomes of them.
fn specs() -> Vec<(&'static str, Value)> {
    let starter =
        |workload: Value| json!({"distribution": {"name": "starter"}, "workload": workload});
    let mut everything = starter(json!({
        "storage": {"size": "10Gi"},
        "autoscaling": {"maxReplicas": 3, "targetCPUUtilization": 70},
        "podDisruptionBudget": {"maxUnavailable": 1},
    }));
    everything["networking"] = json!({
        "expose": true,
        "allowedFrom": {"namespaces": ["friends"]},
        "tls": {"caBundle": {"configMapName": "authorities"}},
    });
    vec![
        ("everything", everything),
        ("waiting", starter(json!({}))),
        ("refreshed", starter(json!({}))),
        ("overridden", json!({"distribution": {"name": "remote-vllm"}})),
        ("orphan", starter(json!({}))),
        ("volume", starter(json!({}))),
        ("kept", starter(json!({"storage": {"size": "10Gi"}}))),
        ("deleted", starter(json!({"storage": {"size": "10Gi", "deletionPolicy": "Delete"}}))),
        ("bigger", starter(json!({"storage": {"size": "20Gi"}}))),
    ]
}

async fn set(cluster: &ControlPlane, purpose: &str, spec: &Value) -> StagedNamespace {
    let namespace = cluster.namespace(purpose).await.unwrap();
    let namespace = Namespace { cluster, name: namespace };
    namespace.distribution(NAME, spec.clone()).await;
    let old = Installation::for_resource(namespace.clone(), NAME).await;
    let workload = &spec["workload"];
    old.write(old.account()).await;
    if workload["storage"].is_object() {
        old.write(old.claim()).await;
    }
    if purpose == "everything" {
        let authorities = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "authorities"},
            "data": {"ca-bundle.crt": authority("everything")},
        });
        namespace.apply(&authorities.to_string()).await;
        old.write(old.ca_bundle()).await;
        old.write(old.network_policy()).await;
        old.write(old.disruption_budget()).await;
        old.write(old.autoscaler()).await;
        old.write(old.ingress()).await;
    }
    old.write(old.service()).await;
    let mut deployment = old.deployment(workload["storage"].is_object());
    let mut pods = 1;
    if purpose == "orphan" {
        old.create_without_owner(&deployment).await;
    } else if workload["autoscaling"].is_object() {
        // It was there before its autoscaler, and v0.9 then leaves the number alone.
        pods = 2;
        deployment["spec"]["replicas"] = json!(pods);
        old.create(&deployment).await;
        deployment["spec"].as_object_mut().unwrap().remove("replicas");
        old.apply(&deployment).await;
    } else {
        old.write(deployment).await;
    }
    namespace
        .until("Deployment", NAME, "runs", |object| object["status"]["availableReplicas"] == pods)
        .await;
    let before = Before::now(&namespace).await;
    StagedNamespace { name: namespace.name, before }
}
