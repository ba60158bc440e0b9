//! The kinds of authentication that OGX alone has: keys, and a gateway in front.

use llsd_testkit::{LlamaStackServer, OpenAiStub, Release};
use reqwest::Method;
use serde_json::{Value, json};

use super::{PATIENCE, status};
use crate::pod::{Pod, Secrets};

const KEYS: [&str; 2] = ["planted-key-of-alice", "planted-key-of-bob"];

/// A running server, and what must live as long.
struct Started {
    pod: Pod,
    server: LlamaStackServer,
    _stub: OpenAiStub,
}

async fn started(release: Release, access: Value, secrets: &Secrets) -> Started {
    let stub = OpenAiStub::start(&["llama", "embed"]).await.unwrap();
    let spec = json!({
        "providers": {"inference": {"provider": "vllm", "endpoint": stub.url()}},
        "resources": {"models": [
            "llama", {"name": "embed", "modelType": "embedding", "embeddingDimension": 8},
        ]},
        "access": access,
    });
    let pod = Pod::planned(release, spec, secrets);
    let mut server = release.boot(pod.boot(pod.config().to_owned())).unwrap();
    server.wait_healthy(PATIENCE).await.unwrap();
    Started { pod, server, _stub: stub }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_answers_those_who_have_one_of_its_keys() {
    let release = Release::newest_ogx();
    if !Release::is_thorough_or_left_out() || !release.install_or_skip() {
        return;
    }
    let secrets = Secrets::from([
        (("keys", "alice"), KEYS[0].to_owned()),
        (("keys", "bob"), KEYS[1].to_owned()),
    ]);
    let keys = ["alice", "bob"].map(|key| json!({"name": "keys", "key": key}));
    let access = json!({"authentication": {"apiKeys": keys}});
    let started = started(release, access, &secrets).await;
    let (pod, server) = (&started.pod, &started.server);
    for (key, expected) in
        [(Some(KEYS[0]), 200), (Some(KEYS[1]), 200), (Some("another"), 401), (None, 401)]
    {
        assert_eq!(status(server, "/v1/models", key).await, expected, "{key:?}: {}", server.log());
    }
    assert_eq!(status(server, "/v1/health", None).await, 200);
    let planned = serde_json::to_string(&pod.plan.objects.deployment).unwrap();
    for text in [server.log(), planned, pod.config().to_owned()] {
        assert!(KEYS.iter().all(|key| !text.contains(key)), "{text}");
    }
}

/// What the server answers to a request with these headers.
async fn with_headers(
    server: &LlamaStackServer,
    method: Method,
    headers: &[(&str, &str)],
    body: Option<&Value>,
) -> (u16, Value) {
    let mut request = server.request(method, "/v1/vector_stores");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    if let Some(body) = body {
        request = request.header("content-type", "application/json").body(body.to_string());
    }
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    (status, serde_json::from_str(&answer.text().await.unwrap()).unwrap_or_default())
}

fn gateway(trusted: &str) -> Value {
    json!({
        "authentication": {"gateway": {
            "principalHeader": "x-auth-user", "tenantHeader": "x-auth-tenant",
            "trustedCidrs": [trusted],
        }},
        "tenancy": {"mode": "multi"},
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_believes_its_gateway_alone_and_keeps_tenants_apart() {
    let release = Release::newest_ogx();
    if !Release::is_thorough_or_left_out() || !release.install_or_skip() {
        return;
    }
    let trusting = started(release, gateway("127.0.0.0/8"), &Secrets::new()).await;
    let server = &trusting.server;
    let of = |tenant| [("x-auth-user", "alice"), ("x-auth-tenant", tenant)];
    let [red, blue] = ["red", "blue"].map(of);
    let store = json!({
        "name": "mine", "embedding_model": "vllm/embed", "embedding_dimension": 8,
        "provider_id": "faiss",
    });
    let (made, body) = with_headers(server, Method::POST, &red, Some(&store)).await;
    assert_eq!(made, 200, "{body}: {}", server.log());
    for (headers, seen) in [(red, 1), (blue, 0)] {
        let (status, listed) = with_headers(server, Method::GET, &headers, None).await;
        assert_eq!(
            (status, listed["data"].as_array().map(Vec::len)),
            (200, Some(seen)),
            "{listed}"
        );
    }
    assert_eq!(with_headers(server, Method::GET, &[], None).await.0, 401);
    assert_eq!(status(server, "/v1/health", None).await, 200);

    // Somebody who is not the gateway.
    let strict = started(release, gateway("10.1.0.0/16"), &Secrets::new()).await;
    let server = &strict.server;
    let (refused, body) = with_headers(server, Method::GET, &red, None).await;
    assert_eq!(refused, 403, "{body}: {}", server.log());
    // Nor somebody who says to come from there.
    let [user, tenant] = red;
    let headers = [user, tenant, ("x-forwarded-for", "10.1.2.3")];
    let (refused, body) = with_headers(server, Method::GET, &headers, None).await;
    assert_eq!(refused, 403, "{body}: {}", server.log());
    assert_eq!(status(server, "/v1/health", None).await, 200);
}
