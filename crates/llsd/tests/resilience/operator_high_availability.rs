//! Of several replicas one works. When it goes, another works on; while the API server is frozen
//! nobody does; and a replica that is asked to end finishes what it has begun.

use llsd_install::names;
use llsd_testkit::{Kubelet, PodState};
use serde_json::json;
use tokio::time::{Duration, Instant, sleep, timeout};

use llsd_testbed::access::eventually;
use llsd_testbed::cluster_pool::ClusterPool;
use llsd_testbed::gate::Gate;
use llsd_testbed::namespace::Namespace;
use llsd_testbed::operator::Operator;
use llsd_testbed::stub_server::StubServer;

struct Scene {
    _kubelet: Kubelet,
    cluster: ClusterPool,
    servers: String,
}

impl Scene {
    async fn set() -> Option<Self> {
        let cluster = ClusterPool::get_or_skip().await?;
        let kubelet = cluster.kubelet(|_| PodState::Ready).await.unwrap();
        let servers =
            format!("--server-url-template=http://{}", StubServer::of_all_servers().address());
        Some(Self { _kubelet: kubelet, cluster, servers })
    }

    fn replica(&self) -> Operator {
        let kubeconfig = self.cluster.kubeconfig_for(&self.cluster.user, &[]);
        Operator::replica(&self.cluster, &kubeconfig, &[&self.servers])
    }

    async fn namespace(&self) -> Namespace<'_> {
        let name = self.cluster.namespace("replicas").await.unwrap();
        Namespace { cluster: &self.cluster, name }
    }
}

async fn leads(replica: &Operator) -> bool {
    replica.figure("llsd_leader").await == Some(1.0)
}

/// Waits until one of the two leads; then the leader comes first.
async fn leader_first(one: Operator, other: Operator) -> (Operator, Operator) {
    eventually("one replica leads", async || leads(&one).await || leads(&other).await).await;
    assert!(!(leads(&one).await && leads(&other).await), "both lead");
    if leads(&one).await { (one, other) } else { (other, one) }
}

async fn until_replicas(namespace: &Namespace<'_>, count: i32) {
    namespace
        .until("Deployment", "server", "has the number of pods", |deployment| {
            deployment["spec"]["replicas"] == count
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_replica_works_on_when_the_leader_crashes_or_ends() {
    let Some(scene) = Scene::set().await else { return };
    let namespace = scene.namespace().await;
    let (mut leader, follower) = leader_first(scene.replica(), scene.replica()).await;
    namespace.distribution("server", json!({"distribution": {"name": "starter"}})).await;
    namespace.until_ready("server").await;
    let planned = r#"llsd_reconciles_total{result="planned"}"#;
    assert!(leader.figure(planned).await > Some(0.0));
    assert_eq!(follower.figure(planned).await, Some(0.0), "only the leader works");

    leader.kill();
    let crashed = Instant::now();
    let spec = json!({"spec": {"workload": {"replicas": 2}}});
    namespace.patch("LlamaStackDistribution", "server", &spec).await;
    eventually("the other replica leads", async || leads(&follower).await).await;
    let took = crashed.elapsed();
    assert!(took < Duration::from_secs(20), "it took {took:?}");
    until_replicas(&namespace, 2).await;

    let (mut leader, follower) = (follower, scene.replica());
    eventually("it is ready", async || follower.probe("/readyz").await == Some(200)).await;
    assert!(!leads(&follower).await);
    assert!(leader.stop().success(), "{}", leader.log());
    let ended = Instant::now();
    eventually("the third replica leads", async || leads(&follower).await).await;
    let took = ended.elapsed();
    assert!(took < Duration::from_secs(5), "it took {took:?}");
    let spec = json!({"spec": {"workload": {"replicas": 1}}});
    namespace.patch("LlamaStackDistribution", "server", &spec).await;
    until_replicas(&namespace, 1).await;
}

/// When a replica led, by its log: from `leading` to the loss, or to the end of the log.
fn terms(replica: &Operator) -> Vec<(String, String)> {
    let log = replica.log();
    let mut terms: Vec<(String, String)> = Vec::new();
    for line in log.lines() {
        let Some(time) = line.split_whitespace().next() else { continue };
        if line.ends_with(": leading") {
            terms.push((time.to_owned(), "9999".to_owned()));
        } else if line.contains("leadership is lost")
            && let Some((_, end)) = terms.last_mut()
        {
            time.clone_into(end);
        }
    }
    terms
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_api_server_ends_the_term_and_there_are_never_two_leaders() {
    let Some(scene) = Scene::set().await else { return };
    let namespace = scene.namespace().await;
    namespace.distribution("server", json!({"distribution": {"name": "starter"}})).await;
    let (leader, follower) = leader_first(scene.replica(), scene.replica()).await;
    namespace.until_ready("server").await;

    scene.cluster.pause_api_server().unwrap();
    let frozen = Instant::now();
    let mut stopped = None;
    while frozen.elapsed() < Duration::from_secs(20) {
        let (one, two) = (leads(&leader).await, leads(&follower).await);
        assert!(!(one && two), "two leaders after {:?}", frozen.elapsed());
        assert!(!two, "nobody can become leader now");
        if !one && stopped.is_none() {
            stopped = Some(frozen.elapsed());
        }
        assert_eq!(leader.probe("/healthz").await, Some(200), "a restart would not help");
        sleep(Duration::from_millis(200)).await;
    }
    scene.cluster.resume_api_server().unwrap();
    let stopped = stopped.expect("it gave up during the freeze");
    assert!(stopped < Duration::from_secs(12), "it led for {stopped:?} without a renewal");

    let spec = json!({"spec": {"workload": {"replicas": 2}}});
    namespace.patch("LlamaStackDistribution", "server", &spec).await;
    let (leader, follower) = leader_first(leader, follower).await;
    until_replicas(&namespace, 2).await;
    assert!(leads(&leader).await && !leads(&follower).await);
    let mut terms = [terms(&leader), terms(&follower)].concat();
    terms.sort();
    assert!(terms.len() >= 2, "{terms:?}");
    for pair in terms.windows(2) {
        assert!(pair[0].1 <= pair[1].0, "terms overlap: {terms:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_is_asked_to_end_finishes_its_work_and_gives_the_lease_back() {
    let Some(scene) = Scene::set().await else { return };
    let namespace = scene.namespace().await;
    let gate = Gate::open(&scene.cluster, &scene.cluster.user, "replica").await;
    let mut replica = Operator::replica(&scene.cluster, gate.kubeconfig(), &[&scene.servers]);
    eventually("it is ready", async || replica.probe("/readyz").await == Some(200)).await;
    assert_eq!(replica.probe("/healthz").await, Some(200));
    // Later than that it leads: the key for secrets is written in between.
    let works = "all watches are in";
    eventually("it works", async || replica.log().contains(works)).await;

    gate.hold_writes();
    namespace.distribution("server", json!({"distribution": {"name": "starter"}})).await;
    timeout(Duration::from_secs(20), gate.somebody_waits()).await.expect("it begins to write");
    replica.signal("TERM");
    let asked = Instant::now();
    eventually("it is no longer ready", async || replica.probe("/readyz").await != Some(200)).await;
    assert!(replica.ended().is_none(), "it waits for its work");
    gate.release();
    let ended = replica.until_ended().await;
    assert!(ended.success(), "{ended}: {}", replica.log());
    assert!(asked.elapsed() < Duration::from_secs(20));
    let server = namespace.get("LlamaStackDistribution", "server").await.unwrap();
    assert_eq!(server["status"]["observedGeneration"], 1, "{server}");
    assert!(namespace.get("Deployment", "server").await.is_some());
    let own = Namespace { cluster: &scene.cluster, name: names::NAMESPACE.to_owned() };
    let lease = own.get("Lease", "54e06e98.llamastack.io").await.unwrap();
    assert_eq!(lease["spec"]["holderIdentity"].as_str().unwrap_or_default(), "");
}
