//! Streams that last as long as a server that is told to end may take: its pod is replaced under them.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use llsd_node::NodeOptions;
use llsd_node::product::{Product, SERVED_MODEL};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use crate::scene::{
    PATIENCE, TEAM, apply_until_ready, installed, is_ready, kept, nothing_failed, pods, resource,
    url,
};

/// The parts of a stream, each of which takes a pause: ten minutes in all.
const PARTS: u32 = 4;
const PAUSE: u64 = 150;
/// As docs/safe-change.md has it, for a server whose state is on no volume.
const DRAIN: u64 = 15;
const GRACE: u64 = DRAIN + 600;

/// The pause that was asked for, as for `make test-replacing`, or that of ten minutes.
fn pause() -> Duration {
    let seconds = std::env::var("LLSD_TEST_STREAM_PAUSE").ok();
    Duration::from_secs(seconds.map_or(PAUSE, |seconds| seconds.parse().unwrap()))
}

#[tokio::test]
async fn streams_end_whole_while_their_server_is_replaced() {
    let Some(product) = installed(NodeOptions::default()).await else { return };
    a_replaced_pod_ends_with_its_last_stream(&product).await;
    a_pod_is_ended_when_its_time_is_over(&product).await;
    product.node.stop().unwrap();
}

async fn a_replaced_pod_ends_with_its_last_stream(product: &Product) {
    const NAME: &str = "streamed";
    let ready = apply_until_ready(product, &resource(NAME, json!({}))).await;
    product.start_client(TEAM, url(&ready)).await.unwrap();
    let before = pods(product, NAME).await;

    let begun = Instant::now();
    let early = Stream::open(product, url(&ready), pause());
    product.apply(TEAM, &changed(NAME, json!({})).to_string()).await.unwrap();
    while pods(product, NAME).await.len() == before.len() {
        assert!(begun.elapsed() < PATIENCE, "no new pod");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    // The new pod is not ready yet, so this one goes to the old pod, too.
    let late = Stream::open(product, url(&ready), pause());
    product.until(TEAM, NAME, PATIENCE, is_ready).await.unwrap();
    let replaced = begun.elapsed().as_secs();
    let old = pod(product, &before[0]).await.expect("it still has streams");
    assert_eq!(old["spec"]["terminationGracePeriodSeconds"], GRACE, "{:#}", old["spec"]);
    assert_eq!(old["metadata"]["deletionGracePeriodSeconds"], GRACE, "{:#}", old["metadata"]);

    for stream in [early, late] {
        let took = stream.ends_whole().await;
        assert!(took >= pause() * PARTS, "{took:?}");
    }
    let ended = Instant::now();
    let gone = ["wait", &before[0], "-n", TEAM, "--for=delete", "--timeout=1m"];
    product.kubectl(&gone).await.unwrap();
    let asked = nothing_failed(product).await;
    let measured = format!(
        "two streams of {} s whole; the new pod served after {replaced} s, the old one was gone {} s after its last \
         stream; {asked} requests, none lost",
        (pause() * PARTS).as_secs(),
        ended.elapsed().as_secs(),
    );
    kept("Streams end whole while the pod that serves them is replaced", begun, &measured);
}

/// With a time of its own, that is shorter than its stream.
async fn a_pod_is_ended_when_its_time_is_over(product: &Product) {
    const NAME: &str = "hurried";
    const SHORT: u64 = 40;
    let overrides = json!({"workload": {"overrides": {
        "drainSeconds": 5, "terminationGracePeriodSeconds": SHORT,
    }}});
    let ready = apply_until_ready(product, &resource(NAME, overrides.clone())).await;
    let before = pods(product, NAME).await;
    let stream = Stream::open(product, url(&ready), Duration::from_secs(PAUSE));
    product.apply(TEAM, &changed(NAME, overrides).to_string()).await.unwrap();
    let waited = Instant::now();
    while pod(product, &before[0])
        .await
        .is_some_and(|pod| pod["metadata"]["deletionTimestamp"].is_null())
    {
        assert!(waited.elapsed() < PATIENCE, "it is not replaced");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let begun = Instant::now();
    let gone = ["wait", &before[0], "-n", TEAM, "--for=delete", "--timeout=2m"];
    product.kubectl(&gone).await.unwrap();
    let took = begun.elapsed().as_secs();
    assert!((SHORT - 5..SHORT + 15).contains(&took), "{took} s");
    let (said, is_whole) = stream.end().await;
    assert!(!is_whole, "it had no time to end: {said}");
    let measured = format!("gone after {took} of {SHORT} s");
    kept("A pod that still has a stream is ended when its time is over", begun, &measured);
}

/// With other settings, so that its pod is replaced.
fn changed(name: &str, mut spec: Value) -> Value {
    spec["providers"] = json!({"inference": {"settings": {"max_tokens": 2048}}});
    resource(name, spec)
}

/// A pod as long as it is there, by `pod/NAME`.
async fn pod(product: &Product, name: &str) -> Option<Value> {
    let get = ["get", name, "-n", TEAM, "-o", "json", "--ignore-not-found"];
    serde_json::from_str(&product.kubectl(&get).await.unwrap()).ok()
}

/// A chat completion that comes in parts, of which the first is there.
struct Stream {
    begun: Instant,
    client: Child,
    output: BufReader<ChildStdout>,
    first: String,
}

impl Stream {
    fn open(product: &Product, url: &str, pause: Duration) -> Self {
        let begun = Instant::now();
        let question = format!("wait {}", pause.as_secs());
        let messages = json!([{"role": "user", "content": question}]);
        let body = json!({"model": SERVED_MODEL, "messages": messages, "stream": true});
        let mut curl = product.node.command("curl");
        curl.args(["--silent", "--show-error", "--no-buffer", "--max-time", "3600"]);
        curl.args(["--header", "content-type: application/json", "--data", &body.to_string()]);
        curl.arg(format!("{url}/v1/chat/completions")).stdout(Stdio::piped());
        let mut client = curl.spawn().unwrap();
        let mut output = BufReader::new(client.stdout.take().unwrap());
        let mut first = String::new();
        output.read_line(&mut first).unwrap();
        assert!(first.starts_with("data: "), "{first}");
        Self { begun, client, output, first }
    }

    /// All that came, once nothing more comes, and whether the server ended it.
    async fn end(self) -> (String, bool) {
        let Self { mut client, mut output, first: mut said, .. } = self;
        let read = spawn_blocking(move || {
            output.read_to_string(&mut said).unwrap();
            // curl fails where a connection ends before its answer does.
            (said, client.wait().unwrap().success())
        });
        read.await.unwrap()
    }

    /// How long it took, with every part of it there.
    async fn ends_whole(self) -> Duration {
        let begun = self.begun;
        let (said, is_whole) = self.end().await;
        assert!(is_whole, "{said}");
        for part in 1..=PARTS {
            assert!(said.contains(&format!("Part {part}. ")), "{said}");
        }
        assert!(said.contains(r#""finish_reason":"stop""#), "{said}");
        begun.elapsed()
    }
}
