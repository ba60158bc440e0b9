//! A real OGX serves its figures as the resource asks, on a port of its own, and a real Prometheus reads them.

use std::time::Duration;

use llsd_testbed::access::eventually;
use llsd_testkit::{OpenAiStub, Prometheus, Release, free_port};
use serde_json::json;

use crate::pod::{Pod, Secrets};

const MODEL: &str = "llama3.2-8b";
/// Ten times what an idle machine needs.
const PATIENCE: Duration = Duration::from_mins(3);
/// An address of this machine alone that is not the one which the server takes by itself.
const ELSEWHERE: &str = "127.0.0.3";

#[tokio::test(flavor = "multi_thread")]
async fn prometheus_reads_the_figures_of_a_real_server() {
    let release = Release::newest_ogx();
    if !release.install_or_skip() {
        return;
    }
    let stub = OpenAiStub::start(&[MODEL]).await.unwrap();
    let port = free_port().unwrap();
    let spec = json!({
        "providers": {"inference": {"provider": "vllm", "endpoint": stub.url()}},
        "resources": {"models": [MODEL]},
        "monitoring": {"metrics": {"enabled": true, "port": port}},
    });
    let pod = Pod::planned(release, spec, &Secrets::new());
    let host = pod.container().env.iter().flatten().find(|it| it.name == "OGX_METRICS_HOST");
    assert_eq!(host.unwrap().value.as_deref(), Some("0.0.0.0"), "pods are reached from outside");
    let boot = pod.boot(pod.config().to_owned()).with_env("OGX_METRICS_HOST", ELSEWHERE);
    let mut server = release.boot(boot).unwrap();
    server.wait_healthy(PATIENCE).await.unwrap();

    let targets = [format!("{ELSEWHERE}:{port}")];
    let Some(prometheus) = Prometheus::start_or_skip("team", &targets, &json!([])).await else {
        return;
    };
    let question = json!({
        "model": format!("vllm/{MODEL}"),
        "messages": [{"role": "user", "content": "hello"}],
    });
    eventually("a request is answered", async || {
        let answer = server.post_json("/v1/chat/completions", &question).await;
        answer.is_ok_and(|answer| answer.status == 200)
    })
    .await;
    eventually("it is counted", async || {
        let found = prometheus.query("sum(ogx_requests_total) > 0").await.unwrap();
        found.len() == 1
    })
    .await;
    // The server's own port serves none.
    let answer = server.get_json("/metrics").await;
    assert!(!answer.is_ok_and(|answer| answer.status == 200));
}
