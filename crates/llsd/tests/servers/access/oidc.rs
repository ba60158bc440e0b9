//! Tokens of a provider.

use llsd_plan::server::paths::TRUST_FILE;
use llsd_testkit::{LlamaStackServer, OpenAiStub, Release};
use reqwest::Method;
use serde_json::{Value, json};

use super::issuer::{CLIENT_SECRET, Issuer, claims};
use super::{PATIENCE, call, releases, status};
use crate::pod::{Pod, Secrets};

const NAMES: [&str; 7] =
    ["alice", "bob", "admin", "another audience", "another issuer", "expired", "forged"];

async fn provider(release: Release) -> Issuer {
    Issuer::start(release, |issuer| {
        let with = |who: &str, change: Value| {
            let mut claims = claims(issuer, who, &["users"]);
            claims.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            claims
        };
        json!([
            claims(issuer, "alice", &["users"]),
            claims(issuer, "bob", &["users"]),
            claims(issuer, "carol", &["admins"]),
            with("alice", json!({"aud": "another"})),
            with("alice", json!({"iss": "https://another.example"})),
            with("alice", json!({"exp": 1_000_000_000})),
            with("alice", json!({"forged": true})),
        ])
    })
    .await
}

fn spec(stub: &OpenAiStub, oidc: &Value, with_routes: bool) -> Value {
    let mut access = json!({
        "authentication": {"oidc": oidc},
        "rules": [
            {"permit": {"actions": ["read"], "resource": "model::*"}},
            // Nobody owns what is about to be made.
            {"permit": {"actions": ["create"]}},
            {"permit": {"actions": ["read", "update", "delete"]}, "when": "user is owner"},
        ],
    });
    if with_routes {
        access["routes"] = json!([
            {
                "forbid": {"paths": ["/v1/providers", "/v1/inspect/routes"]},
                "unless": "user with admins in groups",
            },
            {"permit": {"paths": ["*"]}},
        ]);
    }
    json!({
        "providers": {"inference": {"provider": "vllm", "endpoint": stub.url()}},
        "resources": {"models": [
            "llama", {"name": "embed", "modelType": "embedding", "embeddingDimension": 8},
        ]},
        "access": access,
    })
}

async fn started(pod: &Pod, issuer: &Issuer) -> LlamaStackServer {
    let trust = issuer.authority().display().to_string();
    let mut server = pod.release.boot(pod.boot(pod.config().replace(TRUST_FILE, &trust))).unwrap();
    server.wait_healthy(PATIENCE).await.unwrap();
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_answers_those_whose_token_the_provider_signed_for_it() {
    for release in releases() {
        if !release.install_or_skip() {
            return;
        }
        let issuer = provider(release).await;
        let stub = OpenAiStub::start(&["llama", "embed"]).await.unwrap();
        let has_routes = release > Release::V0_4_7;
        // Where its keys are, the provider says itself.
        let oidc = json!({
            "issuer": issuer.url, "audience": "stack", "claims": {"sub": "roles", "groups": "groups"},
        });
        let pod = Pod::planned(release, spec(&stub, &oidc, has_routes), &Secrets::new());
        let server = started(&pod, &issuer).await;

        for open in ["/v1/health", "/v1/version"] {
            assert_eq!(status(&server, open, None).await, 200, "{release} {open}");
        }
        assert_eq!(status(&server, "/v1/models", None).await, 401, "{release}");
        for (name, token) in NAMES.iter().zip(&issuer.tokens) {
            let expected = if ["alice", "bob", "admin"].contains(name) { 200 } else { 401 };
            let got = status(&server, "/v1/models", Some(token)).await;
            assert_eq!(got, expected, "{release} {name}: {}", server.log());
        }
        let [alice, bob, admin] = [0, 1, 2].map(|index| issuer.tokens[index].as_str());
        if has_routes {
            assert_eq!(status(&server, "/v1/providers", Some(admin)).await, 200, "{release}");
            // A router takes a line break for the end of a path, and some paths have two names.
            for path in ["/v1/providers", "/v1alpha/admin/providers", "/v1/inspect/routes"] {
                for path in [path.to_owned(), format!("{path}%0A"), format!("{path}/")] {
                    let got = status(&server, &path, Some(alice)).await;
                    assert_eq!(got, 403, "{release} {path}");
                }
            }
        }
        keeps_users_apart(&server, release, alice, bob).await;
        let log = server.log();
        assert!(issuer.tokens.iter().all(|token| !log.contains(token)), "{release}: {log}");
    }
}

/// What one makes, another does not see.
async fn keeps_users_apart(server: &LlamaStackServer, release: Release, one: &str, other: &str) {
    let store = json!({
        "name": "mine", "embedding_model": "vllm/embed", "embedding_dimension": 8,
        "provider_id": "faiss",
    });
    let path = "/v1/vector_stores";
    let (made, body) = call(server, Method::POST, path, Some(one), Some(&store)).await;
    assert_eq!(made, 200, "{release}: {body}: {}", server.log());
    let id = body["id"].as_str().unwrap().to_owned();
    for (token, seen) in [(one, true), (other, false)] {
        let (_, listed) = call(server, Method::GET, path, Some(token), None).await;
        let listed = listed["data"].as_array().cloned().unwrap_or_default();
        assert_eq!(listed.iter().any(|store| store["id"] == id), seen, "{release}: {listed:?}");
        let found = status(server, &format!("{path}/{id}"), Some(token)).await;
        // 0.3 tells everybody about a store whose id they know.
        let told = seen || release == Release::V0_3_5;
        assert_eq!(found == 200, told, "{release}: {found}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_asks_about_every_token_shows_its_password_to_the_provider_alone() {
    if !Release::is_thorough_or_left_out() {
        return;
    }
    for release in releases() {
        let issuer = provider(release).await;
        let stub = OpenAiStub::start(&["llama", "embed"]).await.unwrap();
        let introspection = json!({
            "url": format!("{}/introspect", issuer.url), "clientId": "stack",
            "clientSecret": {"name": "oidc", "key": "secret"},
        });
        // The server itself compares no audience, so a rule for paths does, in releases that have them.
        let has_routes = release > Release::V0_4_7;
        let mut oidc = json!({"issuer": issuer.url, "introspection": introspection});
        if has_routes {
            oidc["audience"] = "stack".into();
        }
        let secrets = Secrets::from([(("oidc", "secret"), CLIENT_SECRET.to_owned())]);
        let pod = Pod::planned(release, spec(&stub, &oidc, false), &secrets);
        let server = started(&pod, &issuer).await;
        assert_eq!(status(&server, "/v1/models", Some(&issuer.tokens[0])).await, 200, "{release}");
        let other = status(&server, "/v1/models", Some(&issuer.tokens[3])).await;
        assert_eq!(other, if has_routes { 403 } else { 200 }, "{release}: for another audience");
        assert_eq!(status(&server, "/v1/models", Some("unknown")).await, 401, "{release}");
        assert_eq!(status(&server, "/v1/models", None).await, 401, "{release}");
        assert_eq!(status(&server, "/v1/health", None).await, 200, "{release}");
        let planned = serde_json::to_string(&pod.plan.objects.deployment).unwrap();
        for text in [server.log(), planned, pod.config().to_owned()] {
            assert!(!text.contains(CLIENT_SECRET), "{release}: {text}");
        }
    }
}
