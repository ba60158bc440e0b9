//! From a resource to the answers of the real server, and through a change of the resource to its new
//! answers: the operator writes the objects, the stand-in for the kubelet runs the pod's exact
//! command with its environment and mounts, and the server says what it became.

use std::collections::BTreeSet;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use llsd::manifests::names;
use llsd_kubelet::{ImageStandIn, RunningKubelet};
use llsd_testkit::{ControlPlane, OpenAiStub, RegistryServer, Release, TestImage};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use llsd_testbed::install::install;
use llsd_testbed::namespace::Namespace;
use llsd_testbed::operator::Operator;

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
    let Some(venv) = installed() else { return };
    let builder = ControlPlane::builder().with_controller_manager();
    let Some(cluster) = builder.start_or_skip().await else { return };
    let user = install(&cluster).await;
    let image = ImageStandIn::server(&venv);
    let Some(kubelet) = RunningKubelet::start_or_skip(&cluster, move |_| Some(image.clone())).await
    else {
        return;
    };
    let stub = OpenAiStub::start_with_key(&[MODEL], KEY).await.unwrap();
    let address = stub.url().trim_start_matches("http://").split('/').next().unwrap();
    kubelet.let_pods_reach("vllm", 8000, address.parse().unwrap()).unwrap();
    let registry = RegistryServer::builder().start().await.unwrap();
    let labels = [("io.llamastack.config.base64", BASE64_STANDARD.encode(BASE))];
    let image = distribution(&cluster, &registry, "0.7.3", labels).await;
    let template = kubelet.server_url_template();
    let operator =
        Operator::start(&cluster, &user, names::NAMESPACE, &["--server-url-template", &template]);
    let namespace =
        Namespace { cluster: &cluster, name: cluster.namespace("end-to-end").await.unwrap() };
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "vllm-creds"},
        "stringData": {"token": KEY},
    });
    namespace.apply(&secret.to_string()).await;

    namespace.distribution("real", spec(&image, &json!([provider("first")]))).await;
    let ready = ready_with(&namespace, &kubelet, 1, "first").await;
    assert_eq!(ready["status"]["version"]["llamaStackServerVersion"], "0.7.3");
    let url = format!("{}/{}/real-service", kubelet.proxy_url(), namespace.name);
    assert_eq!(inference_of_status(&ready), inference(&url).await);
    assert!(inference(&url).await.contains("first"));
    assert_eq!(complete(&url).await, "stub reply");
    assert!(stub.requests().iter().all(|request| request.authorised));

    namespace
        .distribution("real", spec(&image, &json!([provider("first"), provider("second")])))
        .await;
    let ready = ready_with(&namespace, &kubelet, 2, "second").await;
    let served = inference(&url).await;
    assert!(served.contains("first") && served.contains("second"), "{served:?}");
    assert_eq!(inference_of_status(&ready), served);
    assert_eq!(complete(&url).await, "stub reply");
    assert!(!operator.log().contains(KEY));
}

/// The image of a distribution in a registry, which the operator may speak to.
pub(super) async fn distribution<const N: usize>(
    cluster: &ControlPlane,
    registry: &RegistryServer,
    release: &str,
    labels: [(&str, String); N],
) -> String {
    let host = registry.host();
    let image = TestImage::new().label("org.opencontainers.image.version", release);
    let image = labels.into_iter().fold(image, |image, (name, value)| image.label(name, value));
    registry.push("small", release, &image).await.unwrap();
    let own = Namespace { cluster, name: names::NAMESPACE.to_owned() };
    let config = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": names::CONFIG_MAP},
        "data": {"registries": format!("insecureHosts: ['{host}']\nprivateHosts: ['{host}']\n")},
    });
    own.apply(&config.to_string()).await;
    format!("{host}/small:{release}")
}

fn installed() -> Option<llsd_testkit::Venv> {
    if !Release::V0_7_3.install_or_skip() {
        return None;
    }
    Release::V0_7_3.install().ok()
}

/// Waits until the resource is Ready in this generation and its status lists the provider.
async fn ready_with(
    namespace: &Namespace<'_>,
    kubelet: &RunningKubelet,
    generation: i64,
    provider: &str,
) -> Value {
    let begun = Instant::now();
    loop {
        let now = namespace.get("LlamaStackDistribution", "real").await.unwrap_or_default();
        let ready = llsd_testbed::namespace::condition(&now, "Ready");
        if ready["status"] == "True"
            && ready["observedGeneration"] == generation
            && inference_of_status(&now).contains(provider)
        {
            return now;
        }
        assert!(
            begun.elapsed() < PATIENCE,
            "not Ready: {}\n{}",
            serde_json::to_string_pretty(&now["status"]).unwrap(),
            kubelet.logs(&namespace.name)
        );
        sleep(Duration::from_millis(500)).await;
    }
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
