//! A client that asks all the time while the pods of a real server are replaced. Each is a process, its
//! `preStop` hook is run, and connections follow late, as in a cluster: without the hook some of them
//! would meet a server that is gone. `make test-replacing` lets streams take ten minutes, and measures how
//! long nobody answers where the one pod of a server with a volume is replaced.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use llsd::manifests::names;
use llsd_kubelet::{ImageStandIn, RunningKubelet};
use llsd_testkit::{ControlPlane, OpenAiStub, RegistryServer, Release};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::real_server_end_to_end::distribution;
use llsd_testbed::install::install;
use llsd_testbed::namespace::{Namespace, condition};
use llsd_testbed::operator::Operator;

const MODEL: &str = "llama3.2-8b";
const BASE: &str = include_str!("../servers/pod/bases/0.5-to-0.7.yaml");
/// Streams begin as soon as they are asked for and have four parts. A pause of 15 seconds makes them last for
/// longer than a pod goes on serving before it is stopped.
const PAUSE: u64 = 15;
const PARTS: u32 = 4;

/// The pause that was asked for, if another one was.
fn longer_pause() -> Option<Duration> {
    let seconds = std::env::var("LLSD_TEST_STREAM_PAUSE").ok()?;
    Some(Duration::from_secs(seconds.parse().unwrap()))
}

fn pause() -> Duration {
    longer_pause().unwrap_or(Duration::from_secs(PAUSE))
}

/// Four servers start one after the other on a busy machine.
fn patience() -> Duration {
    Duration::from_mins(7) + pause() * PARTS
}

fn spec(image: &str) -> Value {
    json!({
        "distribution": {"image": image},
        "providers": {"inference": {
            "id": "first", "provider": "vllm", "endpoint": "http://vllm:8000",
            "apiKey": {"name": "vllm-creds", "key": "token"},
        }},
        "resources": {"models": [{"name": MODEL, "provider": "first"}]},
        "workload": {"replicas": 2},
    })
}

fn question(stream: bool) -> String {
    let messages = json!([{"role": "user", "content": "hello"}]);
    json!({"model": format!("first/{MODEL}"), "messages": messages, "stream": stream}).to_string()
}

/// Each request on a connection of its own, as from as many clients.
async fn ask(server: SocketAddr, stream: bool) -> Result<String, String> {
    let client = reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap();
    let request = client.post(format!("http://{server}/v1/chat/completions"));
    let request = request.header("content-type", "application/json").body(question(stream));
    let answer = request.send().await.map_err(|error| format!("{error:?}"))?;
    let status = answer.status();
    let text = answer.text().await.map_err(|error| format!("{error:?}"))?;
    if status.is_success() { Ok(text) } else { Err(format!("{status}: {text}")) }
}

/// Asks until it is told to end.
struct Client {
    ends: Arc<AtomicBool>,
    task: JoinHandle<(Vec<Instant>, Vec<String>)>,
}

impl Client {
    fn start(server: SocketAddr) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&ends);
        let task = tokio::spawn(async move {
            let (mut answers, mut failures) = (Vec::new(), Vec::new());
            while !told.load(Ordering::Relaxed) {
                match ask(server, false).await {
                    Ok(_) => answers.push(Instant::now()),
                    Err(why) => failures.push(why),
                }
                sleep(Duration::from_millis(100)).await;
            }
            (answers, failures)
        });
        Self { ends, task }
    }

    /// When requests were answered, and what became of the others.
    async fn end(self) -> (Vec<Instant>, Vec<String>) {
        self.ends.store(true, Ordering::Relaxed);
        self.task.await.unwrap()
    }
}

async fn until(
    namespace: &Namespace<'_>,
    kubelet: &RunningKubelet,
    what: &str,
    holds: impl AsyncFn(&Value) -> bool,
) {
    let begun = Instant::now();
    loop {
        let now = namespace.get("LlamaStackDistribution", "real").await.unwrap_or_default();
        if condition(&now, "Ready")["status"] == "True" && holds(&now).await {
            return;
        }
        let waited = begun.elapsed();
        assert!(
            waited < patience(),
            "{what}: {:#}\n{}",
            now["status"],
            kubelet.logs(&namespace.name)
        );
        sleep(Duration::from_millis(500)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotated_key_arrives_and_neither_a_request_nor_a_stream_is_lost_meanwhile() {
    if !Release::V0_7_3.install_or_skip() {
        return;
    }
    let venv = Release::V0_7_3.install().unwrap();
    let builder = ControlPlane::builder().with_controller_manager();
    let Some(cluster) = builder.start_or_skip().await else { return };
    let user = install(&cluster).await;
    let image = ImageStandIn::server(&venv);
    let Some(kubelet) = RunningKubelet::start_or_skip(&cluster, move |_| Some(image.clone())).await
    else {
        return;
    };
    let stub = OpenAiStub::start_slow(&[MODEL], pause()).await.unwrap();
    let address = stub.url().trim_start_matches("http://");
    kubelet.let_pods_reach("vllm", 8000, address.parse().unwrap()).unwrap();
    let registry = RegistryServer::builder().start().await.unwrap();
    let labels = [("io.llamastack.config.base64", BASE64_STANDARD.encode(BASE))];
    let image = distribution(&cluster, &registry, "0.7.3", labels).await;
    let template = kubelet.server_url_template();
    let arguments = ["--server-url-template", &template, "--secret-refresh", "5"];
    let _operator = Operator::start(&cluster, &user, names::NAMESPACE, &arguments);
    let namespace =
        Namespace { cluster: &cluster, name: cluster.namespace("replaced").await.unwrap() };
    namespace.secret("vllm-creds", json!({"token": "sk-first"})).await;
    namespace.distribution("real", spec(&image)).await;
    until(&namespace, &kubelet, "two servers run", async |_| true).await;
    let before = namespace.running("real").await;
    assert_eq!(before.pods.len(), 2);
    let server = kubelet.service(&namespace.name, "real-service").unwrap();
    ask(server, false).await.unwrap();

    let client = Client::start(server);
    // Two, so that whichever pod goes last has one to end.
    let streams = [server, server].map(|server| tokio::spawn(ask(server, true)));
    namespace.secret("vllm-creds", json!({"token": "sk-second"})).await;
    until(&namespace, &kubelet, "other servers run", async |_| {
        let pods = namespace.running("real").await.pods;
        pods.len() == 2 && pods.is_disjoint(&before.pods)
    })
    .await;
    // Also those that still end.
    until(&namespace, &kubelet, "the first ones are gone", async |_| {
        namespace.list("Pod").await.len() == 2
    })
    .await;
    let (answers, failures) = client.end().await;
    let answered = answers.len();
    assert!(failures.is_empty(), "{} of {answered} failed: {failures:#?}", failures.len());
    assert!(answered > 100, "{answered}");
    for stream in streams {
        let said = stream.await.unwrap().unwrap();
        assert!(said.contains(r#""finish_reason":"stop""#), "{said}");
    }
    ask(server, false).await.unwrap();
    let last = stub.requests().into_iter().rfind(|request| request.path.contains("chat"));
    assert_eq!(last.and_then(|request| request.key).as_deref(), Some("sk-second"));
    if longer_pause().is_some() {
        println!("{answered} requests and two streams of {:?}: none lost", pause() * PARTS);
        measure_the_gap(&namespace, &kubelet).await;
    }
}

/// With one pod and a volume the old pod goes first, so nobody answers for a while.
async fn measure_the_gap(namespace: &Namespace<'_>, kubelet: &RunningKubelet) {
    let workload = json!({"replicas": 1, "storage": {"size": "1Gi"}});
    namespace
        .patch("LlamaStackDistribution", "real", &json!({"spec": {"workload": workload}}))
        .await;
    let alone = async |_: &Value| namespace.list("Pod").await.len() == 1;
    let others = async |before: &Value| {
        let pods = namespace.list("Pod").await;
        pods.len() == 1 && pods[0]["metadata"]["uid"] != before["metadata"]["uid"]
    };
    until(namespace, kubelet, "one server with a volume runs", async |now| {
        now["status"]["observedGeneration"] == now["metadata"]["generation"] && alone(now).await
    })
    .await;
    let before = namespace.list("Pod").await.remove(0);
    let server = kubelet.service(&namespace.name, "real-service").unwrap();
    ask(server, false).await.unwrap();
    let client = Client::start(server);
    namespace.secret("vllm-creds", json!({"token": "sk-third"})).await;
    until(namespace, kubelet, "another server runs", async |_| others(&before).await).await;
    sleep(Duration::from_secs(2)).await;
    let (answers, failures) = client.end().await;
    let gap = answers.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    println!("one pod with a volume: {gap:.1?} without an answer, {} failures", failures.len());
}
