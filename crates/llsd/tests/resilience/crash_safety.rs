//! The operator is killed after every single request of a create and of an update in turn, at the
//! moment when the API server has acted and the operator does not know. Whoever starts afterwards
//! brings about the same objects, with nothing left over.

use std::net::SocketAddr;

use futures::{StreamExt, stream};
use llsd_testkit::ControlPlane;
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio::time::{Duration, Instant, sleep, timeout};

use crate::crash::namespace::Namespace;
use crate::crash::snapshot::{self, Snapshot, differences};
use llsd_testbed::gate::{Counted, Gate};
use llsd_testbed::install::install;
use llsd_testbed::namespace::{PATIENCE, condition};
use llsd_testbed::operator::Operator;
use llsd_testbed::stub_server::StubServer;

const NAME: &str = "server";
/// Runs at the same time: enough to keep two cores busy.
const AT_ONCE: usize = 4;

struct Scene {
    cluster: ControlPlane,
    user: String,
}

/// Without controllers: nothing in these tests changes objects but the operator and the test.
async fn scene() -> Option<&'static Scene> {
    static SCENE: OnceCell<Option<Scene>> = OnceCell::const_new();
    let start = async || {
        let cluster = ControlPlane::builder().start_or_skip().await?;
        let user = install(&cluster).await;
        Some(Scene { cluster, user })
    };
    SCENE.get_or_init(start).await.as_ref()
}

/// With an object of every kind.
fn rich() -> Value {
    json!({
        "distribution": {"name": "starter"},
        "providers": {"inference": {
            "provider": "vllm",
            "endpoint": "http://vllm:8000",
            "apiKey": {"secretKeyRef": {"name": "keys", "key": "token"}},
        }},
        "storage": {"sql": {"type": "postgres", "connectionString": {
            "secretKeyRef": {"name": "keys", "key": "url"},
        }}},
        "networking": {
            "expose": {"hostname": "llama.example.com"},
            "allowedFrom": {"namespaces": ["clients"]},
        },
        "workload": {
            "replicas": 2,
            "storage": {"size": "1Gi"},
            "autoscaling": {"minReplicas": 2, "maxReplicas": 3, "targetCPUUtilization": 80},
            "podDisruptionBudget": {"minAvailable": 1},
        },
    })
}

/// Another provider, and without most of the objects.
fn plain() -> Value {
    json!({
        "distribution": {"name": "starter"},
        "providers": {"inference": {"provider": "ollama", "endpoint": "http://ollama:11434"}},
        "storage": {"sql": {"type": "sqlite"}},
        "workload": {"replicas": 1, "storage": {"size": "1Gi"}},
    })
}

const RESOURCES: &str = "/apis/llamastack.io/v1alpha2";
const DEPLOYMENTS: &str = "/apis/apps/v1";
const JOBS: &str = "/apis/batch/v1";
const PODS: &str = "/api/v1";

/// One namespace with an operator of its own behind a gate.
struct Run<'a> {
    scene: &'a Scene,
    namespace: Namespace,
    gate: Gate,
    servers: SocketAddr,
}

impl<'a> Run<'a> {
    async fn prepare(scene: &'a Scene, servers: SocketAddr) -> Self {
        let namespace = Namespace::make(&scene.cluster).await;
        let gate = Gate::open(&scene.cluster, &scene.user, &namespace.name).await;
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"},
            "stringData": {"token": "value", "url": "postgresql://user:word@db:5432/llama"},
        });
        namespace.apply("/api/v1", "secrets/keys", &secret).await;
        Self { scene, namespace, gate, servers }
    }

    async fn ask_for(&self, spec: Value) {
        let object = json!({
            "apiVersion": "llamastack.io/v1alpha2",
            "kind": "LlamaStackDistribution",
            "metadata": {"name": NAME},
            "spec": spec,
        });
        let path = format!("llamastackdistributions/{NAME}");
        self.namespace.apply(RESOURCES, &path, &object).await;
    }

    fn start(&self) -> Operator {
        let servers = format!("--server-url-template=http://{}", self.servers);
        let only = format!("--watch-namespace={}", self.namespace.name);
        let arguments = ["--leader-elect=false", &servers, &only];
        Operator::replica(&self.scene.cluster, self.gate.kubeconfig(), &arguments)
    }

    /// Gives each Job a pod in which the image took the change.
    async fn end_preflight(&self) {
        let jobs = self.namespace.get(JOBS, "jobs").await.unwrap();
        for job in jobs["items"].as_array().unwrap() {
            let name = job["metadata"]["name"].as_str().unwrap();
            let path = format!("pods/{name}");
            if self.namespace.get(PODS, &path).await.is_none() {
                let spec = json!({
                    "serviceAccountName": format!("{NAME}-sa"),
                    "automountServiceAccountToken": false,
                    "containers": [{"name": "llama-stack", "image": "server"}],
                });
                let labels = json!({"batch.kubernetes.io/job-name": name});
                let pod = json!({
                    "apiVersion": "v1", "kind": "Pod", "spec": spec,
                    "metadata": {"name": name, "labels": labels},
                });
                self.namespace.apply(PODS, &path, &pod).await;
            }
            let ended = json!({"exitCode": 0, "message": r#"{"verdict": "good"}"#});
            let container = json!({
                "name": "llama-stack", "image": "server", "imageID": "", "ready": false,
                "restartCount": 0, "state": {"terminated": ended},
            });
            let status =
                json!({"status": {"phase": "Succeeded", "containerStatuses": [container]}});
            self.namespace.merge(PODS, &format!("{path}/status"), &status).await;
        }
    }

    /// Gives the Deployment pods that are ready; whether it had them already.
    async fn serve(&self) -> bool {
        self.end_preflight().await;
        let deployment = format!("deployments/{NAME}");
        let found = self.namespace.get(DEPLOYMENTS, &deployment).await.unwrap_or_default();
        let generation = &found["metadata"]["generation"];
        let is_served = found["status"]["observedGeneration"] == *generation;
        if !is_served {
            let pods = &found["spec"]["replicas"];
            let ready = json!({"status": {
                "observedGeneration": generation, "replicas": pods, "updatedReplicas": pods,
                "readyReplicas": pods, "availableReplicas": pods,
            }});
            self.namespace.merge(DEPLOYMENTS, &format!("{deployment}/status"), &ready).await;
        }
        is_served
    }

    /// Serves until the resource is Ready.
    async fn until_ready(&self) {
        let resource = format!("llamastackdistributions/{NAME}");
        loop {
            let is_served = self.serve().await;
            let found = self.namespace.get(RESOURCES, &resource).await.unwrap();
            if is_served
                && condition(&found, "Ready")["status"] == "True"
                && found["status"]["observedGeneration"] == found["metadata"]["generation"]
            {
                return;
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Lets the operator be killed after so many requests, if it gets there; then starts another
    /// and waits until all is well.
    async fn crash_and_recover(&self, mut replica: Operator, expected: &Snapshot, at: &str) {
        let settled = async {
            tokio::select! {
                () = self.gate.last_done() => {}
                () = self.until_ready() => {}
            }
            replica.kill();
            self.gate.lift();
            replica = self.start();
            self.until_ready().await;
        };
        let in_time = timeout(PATIENCE, settled).await.is_ok();
        assert!(in_time, "killed {at}: not Ready again; its log:\n{}", replica.log());
        let begun = Instant::now();
        loop {
            self.serve().await;
            let found = snapshot::take(&self.namespace).await;
            let differences = differences(expected, &found);
            if differences.is_empty() {
                return;
            }
            let log = replica.log();
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "killed {at}: {differences:#?}\n{log}"
            );
            sleep(Duration::from_millis(100)).await;
        }
    }
}

/// How many requests counted in an undisturbed run, and what came out.
struct Undisturbed {
    writes: usize,
    all: usize,
    objects: Snapshot,
}

/// Waits until nothing changes any more.
async fn settled(run: &Run<'_>) -> Snapshot {
    timeout(PATIENCE, run.until_ready()).await.expect("it becomes Ready");
    let mut last = Snapshot::new();
    loop {
        run.serve().await;
        let found = snapshot::take(&run.namespace).await;
        if found == last {
            return found;
        }
        last = found;
        sleep(Duration::from_secs(1)).await;
    }
}

async fn undisturbed_create(scene: &Scene, servers: SocketAddr) -> Undisturbed {
    let mut passed = [0; 2];
    let mut objects = Snapshot::new();
    for (counted, passed) in [Counted::Writes, Counted::All].into_iter().zip(&mut passed) {
        let run = Run::prepare(scene, servers).await;
        run.ask_for(rich()).await;
        run.gate.limit(counted, usize::MAX);
        let _replica = run.start();
        objects = settled(&run).await;
        *passed = run.gate.lift();
    }
    Undisturbed { writes: passed[0], all: passed[1], objects }
}

async fn undisturbed_update(scene: &Scene, servers: SocketAddr) -> Undisturbed {
    let mut passed = [0; 2];
    let mut objects = Snapshot::new();
    for (counted, passed) in [Counted::Writes, Counted::All].into_iter().zip(&mut passed) {
        let run = Run::prepare(scene, servers).await;
        run.ask_for(rich()).await;
        let _replica = run.start();
        timeout(PATIENCE, run.until_ready()).await.expect("it becomes Ready");
        run.gate.limit(counted, usize::MAX);
        run.ask_for(plain()).await;
        objects = settled(&run).await;
        *passed = run.gate.lift();
    }
    Undisturbed { writes: passed[0], all: passed[1], objects }
}

/// Every request of a run, as how many of which kind had been sent when the crash came.
fn crashes(undisturbed: &Undisturbed) -> Vec<(Counted, usize)> {
    let writes = (1..=undisturbed.writes).map(|number| (Counted::Writes, number));
    writes.chain((1..=undisturbed.all).map(|number| (Counted::All, number))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_create_cut_off_after_any_request_ends_in_the_same_objects() {
    let Some(scene) = scene().await else { return };
    let servers = StubServer::of_all_servers().address();
    let undisturbed = undisturbed_create(scene, servers).await;
    let kinds: Vec<&String> = undisturbed.objects.keys().collect();
    assert!(undisturbed.writes > 11, "{} writes for {kinds:?}", undisturbed.writes);
    let runs = stream::iter(crashes(&undisturbed));
    let runs = runs.for_each_concurrent(AT_ONCE, async |(counted, number)| {
        let run = Run::prepare(scene, servers).await;
        run.ask_for(rich()).await;
        run.gate.limit(counted, number);
        let at = format!("after {number} of {counted:?}");
        run.crash_and_recover(run.start(), &undisturbed.objects, &at).await;
    });
    runs.await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_update_cut_off_after_any_request_ends_in_the_same_objects_with_one_rollout() {
    let Some(scene) = scene().await else { return };
    let servers = StubServer::of_all_servers().address();
    let undisturbed = undisturbed_update(scene, servers).await;
    for gone in ["secrets/server-storage-", "ingresses/server-ingress"] {
        let names: Vec<&String> = undisturbed.objects.keys().collect();
        assert!(!names.iter().any(|name| name.starts_with(gone)), "{names:?}");
    }
    let runs = stream::iter(crashes(&undisturbed));
    let runs = runs.for_each_concurrent(AT_ONCE, async |(counted, number)| {
        let run = Run::prepare(scene, servers).await;
        run.ask_for(rich()).await;
        let replica = run.start();
        timeout(PATIENCE, run.until_ready()).await.expect("it becomes Ready");
        run.gate.limit(counted, number);
        run.ask_for(plain()).await;
        let at = format!("after {number} of {counted:?}");
        run.crash_and_recover(replica, &undisturbed.objects, &at).await;
    });
    runs.await;
}

/// Nobody remembers what was begun for the spec before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_while_no_operator_runs_leaves_nothing_of_the_earlier_spec() {
    let Some(scene) = scene().await else { return };
    let servers = StubServer::of_all_servers().address();
    // One more than there are objects that only the rich resource has.
    let runs = stream::iter(1..=11).for_each_concurrent(AT_ONCE, async |number| {
        let run = Run::prepare(scene, servers).await;
        run.ask_for(rich()).await;
        run.gate.limit(Counted::Writes, number);
        let mut replica = run.start();
        timeout(PATIENCE, run.gate.last_done()).await.expect("it writes as much");
        replica.kill();
        run.gate.lift();
        // Secrets are not listed: one that no Deployment came to name goes with the resource.
        let deployment = run.namespace.get(DEPLOYMENTS, &format!("deployments/{NAME}")).await;
        let is_unrecorded = deployment.is_none();
        run.ask_for(plain()).await;
        let _replica = run.start();
        timeout(PATIENCE, run.until_ready()).await.expect("it becomes Ready");
        let left = snapshot::take(&run.namespace).await;
        let of_the_plain_one = |name: &String| {
            ["configmaps/", "deployments/", "services/", "serviceaccounts/", "persistentvol"]
                .iter()
                .any(|kind| name.starts_with(kind))
                || name == "secrets/keys"
                || is_unrecorded && name.starts_with("secrets/server-storage-")
                || name.starts_with("llamastackdistributions/")
        };
        let left: Vec<&String> = left.keys().filter(|name| !of_the_plain_one(name)).collect();
        assert!(left.is_empty(), "killed after {number} writes: {left:?}");
    });
    runs.await;
}
