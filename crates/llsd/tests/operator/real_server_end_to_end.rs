//! From a resource to the answers of the real server, and through a change of the resource to its new
//! answers: the operator writes the objects, the stand-in for the kubelet runs the pod's exact
//! command with its environment and mounts, and the server says what it became.

use std::collections::BTreeSet;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use llsd_kubelet::RunningKubelet;
use llsd_testkit::{OpenAiStub, Release};
use serde_json::{Value, json};

use super::real_site::{RealSite, until};
use llsd_testbed::namespace::{Namespace, condition};

const MODEL: &str = "llama3.2-8b";
const KEY: &str = "sk-right";
/// A distribution without packages beyond the server's own.
const BASE: &str = include_str!("../servers/pod/bases/0.5-to-0.7.yaml");
/// A server that starts on a busy machine reads a lot of Python.
const PATIENCE: Duration = Duration::from_mins(4);

fn spec(image: &str, providers: &Value) -> Value {
    json!({
        "distribution": {"image": image},
        "providers": {"inference": providers},
        "resources": {"models": [{"name": MODEL, "provider": "first"}]},
        "workload": {"storage": {"size": "1Gi"}},
    })
}

fn provider(id: &str) -> Value {
    json!({
        "id": id, "provider": "vllm", "endpoint": "http://vllm:8000",
        "apiKey": {"secretKeyRef": {"name": "vllm-creds", "key": "token"}},
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_becomes_a_real_server_and_a_change_of_it_becomes_another() {
    let labels = [("io.llamastack.config.base64", BASE64_STANDARD.encode(BASE))];
    let Some(site) = RealSite::start_or_skip(Release::V0_7_3, labels).await else { return };
    let (image, kubelet) = (&site.image, &site.kubelet);
    let stub = OpenAiStub::start_with_key(&[MODEL], KEY).await.unwrap();
    let address = stub.url().trim_start_matches("http://").split('/').next().unwrap();
    kubelet.let_pods_reach("vllm", 8000, address.parse().unwrap()).unwrap();
    let operator = site.operator(&[]);
    let namespace = site.namespace("end-to-end").await;
    namespace.secret("vllm-creds", json!({"token": KEY})).await;

    namespace.distribution("real", spec(image, &json!([provider("first")]))).await;
    let ready = ready_with(&namespace, kubelet, 1, "first").await;
    assert_eq!(ready["status"]["version"]["llamaStackServerVersion"], "0.7.3");
    let url = format!("{}/{}/real-service", kubelet.proxy_url(), namespace.name);
    assert_eq!(inference_of_status(&ready), inference(&url).await);
    assert!(inference(&url).await.contains("first"));
    assert_eq!(complete(&url).await, "stub reply");
    assert!(stub.requests().iter().all(|request| request.authorised));

    namespace
        .distribution("real", spec(image, &json!([provider("first"), provider("second")])))
        .await;
    let ready = ready_with(&namespace, kubelet, 2, "second").await;
    let served = inference(&url).await;
    assert!(served.contains("first") && served.contains("second"), "{served:?}");
    assert_eq!(inference_of_status(&ready), served);
    assert_eq!(complete(&url).await, "stub reply");
    assert!(!operator.log().contains(KEY));
}

/// Waits until the resource is Ready in this generation and its status lists the provider.
async fn ready_with(
    namespace: &Namespace<'_>,
    kubelet: &RunningKubelet,
    generation: i64,
    provider: &str,
) -> Value {
    until(namespace, kubelet, PATIENCE, async |now| {
        let ready = condition(now, "Ready");
        ready["status"] == "True"
            && ready["observedGeneration"] == generation
            && inference_of_status(now).contains(provider)
    })
    .await
}

fn ids(providers: &Value) -> BTreeSet<String> {
    let all = providers.as_array().into_iter().flatten();
    let inference = all.filter(|provider| provider["api"] == "inference");
    inference.filter_map(|provider| provider["provider_id"].as_str()).map(str::to_owned).collect()
}

fn inference_of_status(resource: &Value) -> BTreeSet<String> {
    ids(&resource["status"]["distributionConfig"]["providers"])
}

async fn inference(url: &str) -> BTreeSet<String> {
    let answer = reqwest::get(format!("{url}/v1/providers")).await.unwrap().text().await.unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    ids(&answer["data"])
}

async fn complete(url: &str) -> String {
    let question = json!({
        "model": format!("first/{MODEL}"),
        "messages": [{"role": "user", "content": "hello"}],
    });
    let client = reqwest::Client::new();
    let request = client.post(format!("{url}/v1/chat/completions"));
    let request = request.header("content-type", "application/json").body(question.to_string());
    let answer = request.send().await.unwrap().text().await.unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    answer["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned()
}
