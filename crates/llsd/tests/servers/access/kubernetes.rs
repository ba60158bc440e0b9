//! Tokens of service accounts, which a real API server knows.

use llsd_plan::server::paths::{CLUSTER_CA_FILE, TRUST_FILE};
use llsd_testkit::{ControlPlane, OpenAiStub, Release, SharedControlPlane};
use serde_json::{Value, json};

use super::issuer::Issuer;
use super::{PATIENCE, releases, status};
use crate::pod::{Pod, Secrets};

static CLUSTER: SharedControlPlane = SharedControlPlane::new(ControlPlane::builder);

#[tokio::test(flavor = "multi_thread")]
async fn a_server_answers_service_accounts_of_its_cluster() {
    if !Release::is_thorough_or_left_out() {
        return;
    }
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    let namespace = cluster.namespace("access").await.unwrap();
    let mut tokens = Vec::new();
    for account in ["robot", "reader"] {
        let args = ["create", "serviceaccount", account, "-n", &namespace];
        cluster.kubectl(&args, None).await.unwrap().expect_success();
        let args = ["create", "token", account, "-n", &namespace];
        let token = cluster.kubectl(&args, None).await.unwrap().expect_success();
        tokens.push(token.trim().to_owned());
    }
    let robot = format!("system:serviceaccount:{namespace}:robot");
    for release in releases() {
        if !release.install_or_skip() {
            return;
        }
        let stub = OpenAiStub::start(&["llama"]).await.unwrap();
        let mut access = json!({"authentication": {"kubernetes": {}}});
        let has_routes = release > Release::V0_4_7;
        if has_routes {
            access["routes"] = json!([
                {"permit": {"paths": ["*"]}, "when": format!("user with {robot} in roles")},
            ]);
        }
        let spec = json!({
            "providers": {"inference": {"provider": "vllm", "endpoint": stub.url()}},
            "access": access,
        });
        let pod = Pod::planned(release, spec, &Secrets::new());
        let authority = cluster.certificate_authority().display().to_string();
        let config = pod.config().replace("https://kubernetes.default.svc", &cluster.url());
        let boot = pod.boot(config.replace(CLUSTER_CA_FILE, &authority));
        let mut server = release.boot(boot).unwrap();
        server.wait_healthy(PATIENCE).await.unwrap();

        let [robot, reader] = [0, 1].map(|index| Some(tokens[index].as_str()));
        let forbidden = if has_routes { 403 } else { 200 };
        for (who, token, expected) in [
            ("nobody", None, 401),
            ("an unknown token", Some("unknown"), 401),
            ("the robot", robot, 200),
            ("the reader", reader, forbidden),
        ] {
            let got = status(&server, "/v1/models", token).await;
            assert_eq!(got, expected, "{release} {who}: {}", server.log());
        }
        assert_eq!(status(&server, "/v1/health", None).await, 200, "{release}");
        assert!(tokens.iter().all(|token| !server.log().contains(token.as_str())), "{release}");
    }
}

/// What a server is handed is of no use before the API server.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_an_audience_of_its_own_is_handed_no_token_for_the_api_server() {
    let release = Release::newest();
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    if !release.install_or_skip() {
        return;
    }
    let namespace = cluster.namespace("audience").await.unwrap();
    let run = async |args: &[&str], input: Option<&str>| {
        cluster.kubectl(args, input).await.unwrap().expect_success().trim().to_owned()
    };
    run(&["create", "serviceaccount", "robot", "-n", &namespace], None).await;
    let create = ["create", "token", "robot", "-n", &namespace];
    let for_cluster = run(&create, None).await;
    let for_server = run(&[&create[..], &["--audience=stack"]].concat(), None).await;
    let review = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": for_server},
    });
    let review = run(&["create", "-o", "json", "-f", "-"], Some(&review.to_string())).await;
    let review: Value = serde_json::from_str(&review).unwrap();
    assert_ne!(review["status"]["authenticated"], true, "{review}");

    let about = run(&["get", "--raw", "/.well-known/openid-configuration"], None).await;
    let about: Value = serde_json::from_str(&about).unwrap();
    let issuer = Issuer::start(release, |_| json!([])).await;
    issuer.show_keys(&run(&["get", "--raw", "/openid/v1/jwks"], None).await);
    let stub = OpenAiStub::start(&["llama"]).await.unwrap();
    let spec = json!({
        "providers": {"inference": {"provider": "vllm", "endpoint": stub.url()}},
        "access": {
            "authentication": {"oidc": {
                "issuer": about["issuer"], "audience": "stack",
                "jwksUri": format!("{}/keys", issuer.url), "claims": {"sub": "roles"},
            }},
            "routes": [{
                "permit": {"paths": ["*"]},
                "when": format!("user with system:serviceaccount:{namespace}:robot in roles"),
            }],
        },
    });
    let pod = Pod::planned(release, spec, &Secrets::new());
    let trust = issuer.authority().display().to_string();
    let mut server = release.boot(pod.boot(pod.config().replace(TRUST_FILE, &trust))).unwrap();
    server.wait_healthy(PATIENCE).await.unwrap();
    for (token, expected) in [(&for_server, 200), (&for_cluster, 401)] {
        assert_eq!(status(&server, "/v1/models", Some(token)).await, expected, "{}", server.log());
    }
}
