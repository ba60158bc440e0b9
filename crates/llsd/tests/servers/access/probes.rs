//! The kubelet has no token, and a pod whose probes fail is restarted.

use std::time::{Duration, Instant};

use llsd_testkit::{OpenAiStub, Release};
use reqwest::Method;
use serde_json::json;

use super::{PATIENCE, call, status};
use crate::pod::{Pod, Secrets};

/// As the kubelet asks: each probe of the pod, every ten seconds, while callers without a token are
/// turned away.
#[tokio::test(flavor = "multi_thread")]
async fn probes_of_a_guarded_server_are_answered_for_ten_minutes() {
    let releases = [Release::newest(), Release::newest_ogx()];
    if !Release::is_thorough_or_left_out() {
        return;
    }
    let mut servers = Vec::new();
    let stub = OpenAiStub::start(&["llama"]).await.unwrap();
    for release in releases {
        if !release.install_or_skip() {
            return;
        }
        let spec = json!({
            "providers": {"inference": {"provider": "vllm", "endpoint": stub.url()}},
            "access": {
                "authentication": {"kubernetes": {}},
                "routes": [{"permit": {"paths": ["/v1/chat/completions"]}}],
            },
        });
        let pod = Pod::planned(release, spec, &Secrets::new());
        let container = pod.container();
        let probes =
            [&container.startup_probe, &container.readiness_probe, &container.liveness_probe];
        let paths: Vec<String> = probes
            .into_iter()
            .flatten()
            .map(|probe| probe.http_get.as_ref().unwrap().path.clone().unwrap())
            .collect();
        assert!(!paths.is_empty());
        let mut server = release.boot(pod.boot(pod.config().to_owned())).unwrap();
        server.wait_healthy(PATIENCE).await.unwrap();
        servers.push((release, server, paths));
    }
    let begun = Instant::now();
    let mut answered = 0;
    while begun.elapsed() < Duration::from_mins(10) {
        for (release, server, paths) in &servers {
            for path in paths {
                assert_eq!(status(server, path, None).await, 200, "{release} {path}");
                answered += 1;
            }
            for _ in 0..10 {
                let body = json!({"model": "vllm/llama", "messages": []});
                let path = "/v1/chat/completions";
                let (refused, _) = call(server, Method::POST, path, None, Some(&body)).await;
                assert_eq!(refused, 401, "{release}");
            }
        }
        tokio::time::sleep(Duration::from_secs(10)).await;
    }
    assert!(answered > 100, "{answered}");
}
