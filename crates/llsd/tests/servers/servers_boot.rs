//! Real servers, started as the planned pod starts them, are what the resource says: their
//! providers, their models, the key with which they ask, their TLS. `state_is_kept.rs` has the place
//! of their state.
//! `make test` boots the releases of an ordinary run, `make test-servers` all of them.

use std::collections::BTreeSet;
use std::time::Duration;

use llsd_plan::objects::start_program;
use llsd_plan::releases::Distribution;
use llsd_testkit::{Boot, LlamaStackServer, OpenAiStub, Postgres, Release};
use serde_json::{Value, json};

use crate::pod::{Pod, Secrets, with_certificate};

pub const MODEL: &str = "llama3.2-8b";
pub const KEY: &str = "sk-right";
/// Ten times what an idle machine needs.
pub const PATIENCE: Duration = Duration::from_mins(3);

pub fn vllm(stub: &OpenAiStub) -> Value {
    json!({
        "provider": "vllm",
        "endpoint": stub.url(),
        "apiKey": {"secretKeyRef": {"name": "vllm-creds", "key": "token"}},
    })
}

pub fn models() -> Value {
    json!([
        MODEL,
        {"name": "embed", "modelType": "embedding", "embeddingDimension": 8},
    ])
}

pub fn secrets(key: &str) -> Secrets {
    Secrets::from([(("vllm-creds", "token"), key.to_owned())])
}

async fn started(pod: &Pod) -> LlamaStackServer {
    let mut server = pod.release.boot(pod.boot(pod.config().to_owned())).unwrap();
    server.wait_healthy(PATIENCE).await.unwrap();
    server
}

/// The ids that the server lists, whichever shape its release gives them.
async fn served_models(server: &LlamaStackServer) -> BTreeSet<String> {
    let answer = server.get_json("/v1/models").await.unwrap();
    let list = answer.body["data"].as_array().unwrap_or_else(|| panic!("{}", answer.body)).clone();
    list.iter()
        .filter_map(|model| model["id"].as_str().or(model["identifier"].as_str()))
        .map(str::to_owned)
        .collect()
}

pub fn served_id(release: Release, model: &str) -> String {
    if release == Release::V0_2_12 { model.to_owned() } else { format!("vllm/{model}") }
}

pub async fn complete(server: &LlamaStackServer, release: Release) -> (u16, Value) {
    let path = if release <= Release::V0_2_24 {
        "/v1/openai/v1/chat/completions"
    } else {
        "/v1/chat/completions"
    };
    let question = json!({
        "model": served_id(release, MODEL),
        "messages": [{"role": "user", "content": "hello"}],
    });
    post(server, path, &question).await
}

/// The answer; status 0 where the connection broke.
pub async fn post(server: &LlamaStackServer, path: &str, body: &Value) -> (u16, Value) {
    match server.post_json(path, body).await {
        Ok(answer) => (answer.status, answer.body),
        Err(error) => (0, error.to_string().into()),
    }
}

/// Asks again for a while: releases answer with errors while the tables in Postgres are being made.
pub async fn until_ok<F: Future<Output = (u16, Value)>>(ask: impl Fn() -> F) -> (u16, Value) {
    let mut last = (0, Value::Null);
    for _ in 0..20 {
        last = ask().await;
        if last.0 == 200 {
            break;
        }
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    last
}

#[tokio::test(flavor = "multi_thread")]
async fn a_started_server_has_the_providers_models_and_key_of_the_resource() {
    for release in Release::under_test().unwrap() {
        if !release.install_or_skip() {
            return;
        }
        let stub = OpenAiStub::start_with_key(&[MODEL, "embed"], KEY).await.unwrap();
        let mut spec = json!({
            "providers": {"inference": vllm(&stub)},
            "resources": {"models": models()},
        });
        if release.is_ogx() {
            let alias = json!({"name": "alias", "providerModelId": MODEL});
            spec["resources"]["models"].as_array_mut().unwrap().push(alias);
        }
        let pod = Pod::planned(release, spec.clone(), &secrets(KEY));
        let server = started(&pod).await;
        let health = server.get_json("/v1/health").await.unwrap();
        assert_eq!(health.body, json!({"status": "OK"}), "{release}");

        let answer = server.get_json("/v1/providers").await.unwrap();
        let mut providers: Vec<String> = answer.body["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| {
                format!(
                    "{}/{}",
                    entry["api"].as_str().unwrap(),
                    entry["provider_id"].as_str().unwrap()
                )
            })
            .collect();
        providers.sort();
        assert_eq!(providers, ["files/files", "inference/vllm", "vector_io/faiss"], "{release}");

        let served = served_models(&server).await;
        for model in [MODEL, "embed"] {
            assert!(served.contains(&served_id(release, model)), "{release}: {served:?}");
        }
        let (status, body) = until_ok(|| complete(&server, release)).await;
        assert_eq!(status, 200, "{release}: {body}\n{}", server.log());
        assert!(
            stub.requests().iter().any(|request| {
                request.path.ends_with("/chat/completions") && request.authorised
            })
        );
        if release.is_ogx() {
            let question = json!({
                "model": "vllm/alias",
                "messages": [{"role": "user", "content": "hello"}],
            });
            let ask = || post(&server, "/v1/chat/completions", &question);
            let (status, body) = until_ok(ask).await;
            assert_eq!(status, 200, "{release}: {body}");
        }
        assert!(!server.log().contains(KEY), "{release}: the key is in the log");
        drop(server);

        // Up to 0.2 a server does not even start when its backend refuses it.
        if release >= Release::V0_3_5 {
            let pod = Pod::planned(release, spec, &secrets("sk-wrong"));
            let server = started(&pod).await;
            let (status, body) = complete(&server, release).await;
            assert_ne!(status, 200, "{release}: {body}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_is_served_on_the_port_of_the_resource() {
    for release in Release::under_test().unwrap() {
        if !release.install_or_skip() {
            return;
        }
        let stub = OpenAiStub::start_with_key(&[MODEL, "embed"], KEY).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let (certificate, key) = (folder.path().join("tls.crt"), folder.path().join("tls.key"));
        std::fs::write(&certificate, certified.cert.pem()).unwrap();
        std::fs::write(&key, certified.signing_key.serialize_pem()).unwrap();
        let mut secrets = secrets(KEY);
        secrets.insert(("server-tls", "tls.crt"), String::new());
        secrets.insert(("server-tls", "tls.key"), String::new());
        let spec = json!({
            "providers": {"inference": vllm(&stub)},
            "resources": {"models": models()},
            "networking": {"tls": {"enabled": true, "secretName": "server-tls"}},
            "workload": {"workers": 2},
        });
        let pod = Pod::planned(release, spec, &secrets);
        let probe = pod.container().readiness_probe.as_ref().unwrap().http_get.as_ref().unwrap();
        assert_eq!(probe.scheme.as_deref(), Some("HTTPS"));
        let config = with_certificate(pod.config(), &certificate, &key);
        let boot = pod.boot(config).with_https(certified.cert.pem());
        let mut server = release.boot(boot).unwrap();
        server.wait_healthy(PATIENCE).await.unwrap();
        assert!(server.url().starts_with("https://"));
        assert!(server.url().ends_with(&format!(":{}", pod.port)), "{}", server.url());
    }
}

/// OGX's own command ends with success then, and the pod looks as if it were done.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_fails_ends_with_an_error() {
    for release in Release::under_test().unwrap() {
        if !release.install_or_skip() {
            return;
        }
        let stub = OpenAiStub::start_with_key(&[MODEL, "embed"], KEY).await.unwrap();
        let spec = json!({
            "providers": {"inference": vllm(&stub)},
            "resources": {"models": models()},
        });
        let pod = Pod::planned(release, spec, &secrets(KEY));
        let config = pod.config().replace("remote::vllm", "remote::nonesuch");
        let mut server = release.boot(pod.boot(config)).unwrap();
        let ended = server.wait_exit(PATIENCE).await.unwrap();
        assert!(!ended.success(), "{release}: {ended}");
        assert!(server.log().contains("remote::nonesuch"), "{release}: {}", server.log());
    }
}

/// Providers whose packages an image has, and this machine need not: gigabytes for some of them.
const NOT_INSTALLED: [&str; 5] =
    ["together", "bedrock", "anthropic", "gemini", "sentence-transformers"];

/// A configuration without those providers and what refers to them.
fn as_far_as_installed(base: &str) -> String {
    let mut config: Value = llsd_yaml::document::read(base).unwrap();
    let installed = |entry: &Value| !NOT_INSTALLED.iter().any(|id| entry["provider_id"] == *id);
    for place in ["/providers/inference", "/registered_resources/models"] {
        if let Some(Value::Array(entries)) = config.pointer_mut(place) {
            entries.retain(installed);
        }
    }
    if let Some(Value::Object(defaults)) = config.get_mut("vector_stores") {
        defaults.retain(|_, choice| installed(choice));
    }
    config.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_named_distribution_of_ogx_starts() {
    let release = Release::newest_ogx();
    if !Release::under_test().unwrap().contains(&release) || !release.install_or_skip() {
        return;
    }
    let Some(postgres) = Postgres::builder("ogx", "ogx", "ogx").start_or_skip().await else {
        return;
    };
    let stub = OpenAiStub::start(&[MODEL]).await.unwrap();
    let of_ogx = Distribution::all().iter().filter(|(_, known)| known.release == release.name());
    let mut started = 0;
    for (name, distribution) in of_ogx {
        let boot = Boot::new(as_far_as_installed(distribution.base())).unwrap();
        let port = boot.port().to_string();
        let boot = boot
            .with_env("LLS_PORT", port)
            .with_env("LLS_HOST", "127.0.0.1")
            .with_env("NVIDIA_BASE_URL", format!("{}/v1", stub.url()))
            .with_env("POSTGRES_HOST", "127.0.0.1")
            .with_env("POSTGRES_PORT", postgres.port().to_string())
            .with_program(start_program::FILES)
            .unwrap();
        let mut server = release.boot(boot).unwrap();
        server.wait_healthy(PATIENCE).await.unwrap_or_else(|error| panic!("{name}: {error:#}"));
        let providers = server.get_json("/v1/providers").await.unwrap();
        let apis = |list: &Value| -> BTreeSet<String> {
            let names = list.as_array().into_iter().flatten();
            names.filter_map(|entry| entry["api"].as_str().map(str::to_owned)).collect()
        };
        assert!(apis(&providers.body["data"]).contains("responses"), "{name}");
        started += 1;
    }
    assert_eq!(started, 3);
}
