//! A client that asks all the time while the pods of a real server are replaced, or are about to be. Each
//! is a process, its `preStop` hook is run, and connections follow late, as in a cluster: without the hook
//! some of them would meet a server that is gone. `make test-replacing` lets streams take ten minutes, and
//! measures how long nobody answers where the one pod of a server with a volume is replaced.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use llsd_kubelet::RunningKubelet;
use llsd_testkit::{OpenAiStub, Release, loopback_client};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::real_site::{RealSite, until};
use llsd_testbed::namespace::{Namespace, condition};
use llsd_testbed::operator::Operator;
use llsd_testbed::running::Running;

const MODEL: &str = "llama3.2-8b";
const BASE: &str = include_str!("../servers/pod/bases/0.5-to-0.7.yaml");
/// Streams begin as soon as they are asked for and have four parts. A pause of 15 seconds makes them last for
/// longer than a pod goes on serving before it is stopped.
const PAUSE: u64 = 15;
const PARTS: u32 = 4;
/// So long a server must have been available for its state to be a good one.
const GOOD_AFTER: Duration = Duration::from_secs(62);

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
    let client = loopback_client::client(None).unwrap();
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

    /// Ends, with many answers, as a busy machine has them, and no failure.
    async fn lost_nothing(self) {
        let (answers, failures) = self.end().await;
        let answered = answers.len();
        assert!(failures.is_empty(), "{} of {answered} failed: {failures:#?}", failures.len());
        assert!(answered > 20, "{answered}");
        println!("{answered} requests: none lost");
    }
}

fn is_ready(resource: &Value) -> bool {
    condition(resource, "Ready")["status"] == "True"
}

/// With a model server behind the real ones.
struct Site {
    real: RealSite,
    stub: OpenAiStub,
}

impl Site {
    async fn start_or_skip() -> Option<Self> {
        let labels = [("io.llamastack.config.base64", BASE64_STANDARD.encode(BASE))];
        let real = RealSite::start_or_skip(Release::V0_7_3, labels).await?;
        let stub = OpenAiStub::start_slow(&[MODEL], pause()).await.unwrap();
        let address = stub.url().trim_start_matches("http://");
        real.kubelet.let_pods_reach("vllm", 8000, address.parse().unwrap()).unwrap();
        Some(Self { real, stub })
    }

    /// One replica of the operator.
    fn operator(&self) -> Operator {
        self.real.operator(&["--secret-refresh", "5"])
    }

    /// Two servers in a namespace of their own, and where they answer.
    async fn two_servers(&self) -> (Namespace<'_>, Running, SocketAddr) {
        let namespace = self.real.namespace("replaced").await;
        let kubelet = &self.real.kubelet;
        namespace.secret("vllm-creds", json!({"token": "sk-first"})).await;
        namespace.distribution("real", spec(&self.real.image)).await;
        until(&namespace, kubelet, patience(), async |now| is_ready(now)).await;
        let running = namespace.running("real").await;
        assert_eq!(running.pods.len(), 2);
        let server = kubelet.service(&namespace.name, "real-service").unwrap();
        ask(server, false).await.unwrap();
        (namespace, running, server)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotated_key_arrives_and_neither_a_request_nor_a_stream_is_lost_meanwhile() {
    let Some(site) = Site::start_or_skip().await else { return };
    let mut leader = site.operator();
    let (namespace, before, server) = site.two_servers().await;
    let _follower = site.operator();
    let kubelet = &site.real.kubelet;

    let client = Client::start(server);
    // Two, so that whichever pod goes last has one to end.
    let streams = [server, server].map(|server| tokio::spawn(ask(server, true)));
    namespace.secret("vllm-creds", json!({"token": "sk-second"})).await;
    let template = &before.template;
    namespace
        .until("Deployment", "real", "has the new key", |now| now["spec"]["template"] != *template)
        .await;
    leader.kill();
    until(&namespace, kubelet, patience(), async |now| {
        let pods = namespace.running("real").await.pods;
        is_ready(now) && pods.len() == 2 && pods.is_disjoint(&before.pods)
    })
    .await;
    // Also those that still end.
    until(&namespace, kubelet, patience(), async |now| {
        is_ready(now) && namespace.list("Pod").await.len() == 2
    })
    .await;
    client.lost_nothing().await;
    for stream in streams {
        let said = stream.await.unwrap().unwrap();
        assert!(said.contains(r#""finish_reason":"stop""#), "{said}");
    }
    ask(server, false).await.unwrap();
    let last = site.stub.requests().into_iter().rfind(|request| request.path.contains("chat"));
    assert_eq!(last.and_then(|request| request.key).as_deref(), Some("sk-second"));
    if longer_pause().is_some() {
        println!("two streams of {:?}: neither is lost", pause() * PARTS);
        measure_the_gap(&namespace, kubelet).await;
    }
}

/// The leader of two replicas of the operator ends while Kubernetes still waits for the new pod.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_never_answers_goes_back_without_a_lost_request() {
    let Some(site) = Site::start_or_skip().await else { return };
    let mut first = site.operator();
    let (namespace, before, server) = site.two_servers().await;
    let _second = site.operator();
    sleep(GOOD_AFTER).await;

    let client = Client::start(server);
    let good = namespace.get("Deployment", "real").await.unwrap();
    let deadline = Duration::from_secs(30);
    let sleeps = json!({
        "command": ["python3", "-c", "import time; time.sleep(3600)"],
        "progressDeadlineSeconds": deadline.as_secs(),
    });
    let change = json!({"spec": {"workload": {"overrides": sleeps}}});
    namespace.patch("LlamaStackDistribution", "real", &change).await;
    namespace
        .until("Deployment", "real", "has the new template", |now| {
            now["spec"]["template"] != good["spec"]["template"]
        })
        .await;
    let begun = Instant::now();
    first.kill();
    namespace
        .until("Deployment", "real", "has the template of before", |now| {
            now["spec"]["template"] == good["spec"]["template"]
        })
        .await;
    let took = begun.elapsed();
    until(&namespace, &site.real.kubelet, patience(), async |now| {
        condition(now, "RolledBack")["status"] == "True"
            && namespace.running("real").await.pods == before.pods
    })
    .await;
    client.lost_nothing().await;
    println!("back {took:.1?} after a change with a deadline of {deadline:?}");
    assert!(took < deadline + Duration::from_secs(30), "{took:?}");
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
    until(namespace, kubelet, patience(), async |now| {
        is_ready(now)
            && now["status"]["observedGeneration"] == now["metadata"]["generation"]
            && alone(now).await
    })
    .await;
    let before = namespace.list("Pod").await.remove(0);
    let server = kubelet.service(&namespace.name, "real-service").unwrap();
    ask(server, false).await.unwrap();
    let client = Client::start(server);
    namespace.secret("vllm-creds", json!({"token": "sk-third"})).await;
    until(namespace, kubelet, patience(), async |now| is_ready(now) && others(&before).await).await;
    sleep(Duration::from_secs(2)).await;
    let (answers, failures) = client.end().await;
    let gap = answers.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    println!("one pod with a volume: {gap:.1?} without an answer, {} failures", failures.len());
}
