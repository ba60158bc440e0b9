//! Resources that are settled cost nothing but watches, the lease, and a look at what cannot be
//! watched; nothing is ever written, also not by an operator that was killed and starts again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use llsd_testkit::{ControlPlane, Kubelet, PodState, Requests};
use serde_json::{Value, json};
use tokio::time::Instant;

use llsd_testbed::access::eventually;
use llsd_testbed::cluster_pool::ClusterPool;
use llsd_testbed::namespace::Namespace;
use llsd_testbed::operator::Operator;
use llsd_testbed::stub_server::StubServer;

/// How often a resource at rest is looked at, and a Secret read again, in this test.
const RESYNC: u32 = 5;
const REFRESH: u32 = 5;
/// How often the cluster is asked what it serves.
const DISCOVERY: u32 = 30;
const RESOURCES: usize = 50;
const PLANNED: &str = r#"llsd_reconciles_total{result="planned"}"#;

struct Scene {
    replica: Operator,
    arguments: Vec<String>,
    user: String,
    _kubelet: Kubelet,
    cluster: ClusterPool,
}

impl Scene {
    async fn set() -> Option<Self> {
        let cluster = ClusterPool::get_or_skip().await?;
        let kubelet = cluster.kubelet(|_| PodState::Ready).await.unwrap();
        let arguments: Vec<String> = [
            format!("--resync={RESYNC}"),
            format!("--secret-refresh={REFRESH}"),
            format!("--server-url-template=http://{}", StubServer::of_all_servers().address()),
        ]
        .into();
        let user = cluster.user.clone();
        let replica = start(&cluster, &user, &arguments);
        Some(Self { replica, arguments, user, _kubelet: kubelet, cluster })
    }

    async fn requests_since(&self, mark: llsd_testkit::Mark) -> Requests {
        let all = self.cluster.audit().requests_of(&self.user).await.unwrap();
        all.since(mark).except_leases()
    }

    /// Waits until so many reconciles have ended.
    async fn until_reconciled(&self, count: f64) {
        eventually("everything was looked at", async || {
            self.replica.figure(PLANNED).await.is_some_and(|planned| planned >= count)
        })
        .await;
    }
}

fn start(cluster: &ControlPlane, user: &str, arguments: &[String]) -> Operator {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    Operator::replica(cluster, &cluster.kubeconfig_for(user, &[]), &arguments)
}

/// Every kind of resource that reads or owns something of its own kind, in turn.
fn spec(number: usize) -> Value {
    let key = json!({"secretKeyRef": {"name": format!("key-{}", number / 6 % 2), "key": "token"}});
    let vllm = json!({"provider": "vllm", "endpoint": "http://vllm:8000", "apiKey": key});
    let starter = json!({"name": "starter"});
    match number % 6 {
        0 => json!({"distribution": starter}),
        1 => json!({"distribution": starter, "providers": {"inference": vllm}}),
        2 => json!({"distribution": starter, "overrideConfig": {"configMapName": "own-config"}}),
        3 => json!({
            "distribution": starter,
            "workload": {
                "replicas": 2,
                "autoscaling": {"minReplicas": 2, "maxReplicas": 3, "targetCPUUtilization": 80},
                "podDisruptionBudget": {"minAvailable": 1},
            },
        }),
        4 => json!({
            "distribution": starter,
            "networking": {"expose": true, "allowedFrom": {"namespaces": ["clients"]}},
            "workload": {"storage": {"size": "1Gi"}},
        }),
        _ => json!({
            "distribution": starter,
            "providers": {"inference": vllm},
            "storage": {"sql": {"type": "postgres", "connectionString": {
                "secretKeyRef": {"name": "database", "key": "url"},
            }}},
        }),
    }
}

async fn populate(namespace: &Namespace<'_>) {
    let object = |api: &str, kind: &str, name: String| json!({"apiVersion": api, "kind": kind, "metadata": {"name": name}});
    let mut objects = Vec::new();
    for name in ["key-0", "key-1"] {
        let mut secret = object("v1", "Secret", name.into());
        secret["stringData"] = json!({"token": "value"});
        objects.push(secret);
    }
    let mut database = object("v1", "Secret", "database".into());
    database["stringData"] = json!({"url": "postgresql://user:word@db:5432/llama"});
    objects.push(database);
    let mut config = object("v1", "ConfigMap", "own-config".into());
    config["data"] = json!({"config.yaml": "version: 2\nproviders: {}\n"});
    objects.push(config);
    for number in 0..RESOURCES {
        let name = format!("server-{number}");
        let mut resource = object("llamastack.io/v1alpha2", "LlamaStackDistribution", name);
        resource["spec"] = spec(number);
        objects.push(resource);
    }
    namespace
        .apply(&json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string())
        .await;
}

async fn until_all_ready(namespace: &Namespace<'_>) {
    eventually("all resources are Ready", async || {
        let resources = namespace.list("LlamaStackDistribution").await;
        // An autoscaler raises its one pod to two, seconds after everything else has settled.
        let pods = |object: &Value| {
            if object["spec"]["workload"]["autoscaling"].is_object() { 2 } else { 1 }
        };
        let ready = |object: &&Value| {
            object["status"]["phase"] == "Ready"
                && object["status"]["availableReplicas"] == pods(object)
        };
        resources.iter().filter(ready).count() == RESOURCES
    })
    .await;
}

async fn uids(namespace: &Namespace<'_>, kind: &str) -> BTreeSet<String> {
    let listed = namespace.list(kind).await;
    listed.iter().map(|object| object["metadata"]["uid"].as_str().unwrap().to_owned()).collect()
}

/// As many looks as there are resources.
fn all_resources() -> f64 {
    f64::from(u32::try_from(RESOURCES).unwrap())
}

/// Reads of what cannot be watched, each at its pace and not more often.
fn assert_only_due_reads(requests: &Requests, elapsed: Duration) {
    let paces = |period: u32| {
        let times = elapsed.as_secs() / u64::from(period) + 1;
        usize::try_from(times).unwrap()
    };
    let users = |kind: usize| (0..RESOURCES).filter(|number| number % 6 == kind).count();
    let reads = requests.except_watches();
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for read in &reads {
        assert_eq!(read.verb, "get", "{read:?}");
        *counts.entry((&read.resource, &read.name)).or_default() += 1;
    }
    for ((resource, name), count) in &counts {
        let bound = match (*resource, *name) {
            // Once for all who refer to it.
            ("secrets", "key-0" | "key-1") => paces(REFRESH),
            // A connection string is not kept, so each look at a resource reads it as well.
            ("secrets", "database") => paces(REFRESH) + users(5) * paces(RESYNC),
            // What was taken apart from it is not watched either.
            ("secrets", own) if own.contains("-storage-") => paces(REFRESH) + paces(RESYNC),
            ("configmaps", "own-config") => users(2) * paces(RESYNC),
            // Which kinds the cluster serves.
            ("", "") => paces(DISCOVERY),
            other => panic!("nobody should read {other:?}"),
        };
        assert!(*count <= bound, "{resource} {name}: {count} reads, not {bound}");
    }
    for name in ["key-0", "key-1", "database"] {
        assert!(counts.contains_key(&("secrets", name)), "{name} is not read again");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_settled_resources_cost_no_write_and_few_reads_also_after_a_restart() {
    let Some(mut scene) = Scene::set().await else { return };
    let name = scene.cluster.namespace("rest").await.unwrap();
    let namespace = Namespace { cluster: &scene.cluster, name: name.clone() };
    populate(&namespace).await;
    until_all_ready(&namespace).await;
    // What the last events woke is looked at once more.
    let settled = scene.replica.figure(PLANNED).await.unwrap();
    scene.until_reconciled(settled + all_resources()).await;

    let mark = namespace.quiet(&scene.user).await;
    let (begun, before) = (Instant::now(), scene.replica.figure(PLANNED).await.unwrap());
    tokio::time::sleep(Duration::from_secs(u64::from(2 * RESYNC) + 1)).await;
    scene.until_reconciled(before + 2.0 * all_resources()).await;
    let requests = scene.requests_since(mark).await;
    assert_eq!(requests.writes().by_verb_and_resource(), BTreeMap::new());
    assert_only_due_reads(&requests.reads(), begun.elapsed());

    let pods = uids(&namespace, "Pod").await;
    let replica_sets = uids(&namespace, "ReplicaSet").await;
    let mark = scene.cluster.audit().mark().await.unwrap();
    scene.replica.kill();
    scene.replica = start(&scene.cluster, &scene.user, &scene.arguments);
    // The lease of the killed one runs out first.
    scene.until_reconciled(2.0 * all_resources()).await;
    let requests = scene.requests_since(mark).await;
    assert_eq!(requests.writes().by_verb_and_resource(), BTreeMap::new());
    let namespace = Namespace { cluster: &scene.cluster, name };
    assert_eq!(uids(&namespace, "Pod").await, pods);
    assert_eq!(uids(&namespace, "ReplicaSet").await, replica_sets);
    for resource in namespace.list("LlamaStackDistribution").await {
        assert_eq!(resource["status"]["phase"], "Ready", "{resource}");
    }
}
