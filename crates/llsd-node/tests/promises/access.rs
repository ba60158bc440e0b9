//! Who may call a server: tokens of the cluster's own accounts, as docs/access.md shows them.

use std::time::Instant;

use llsd_node::NodeOptions;
use llsd_node::product::Product;
use serde_json::{Value, json};

use crate::scene::{PATIENCE, TEAM, installed, is_ready, kept, resource, url};

/// The namespace whose accounts may call.
const APPS: &str = "apps";

#[tokio::test]
async fn servers_answer_the_accounts_of_the_cluster_that_may_call() {
    let Some(product) = installed(NodeOptions::default()).await else { return };
    product.kubectl(&["create", "namespace", APPS]).await.unwrap();
    for (account, namespace) in [("robot", APPS), ("stranger", TEAM)] {
        product.kubectl(&["create", "serviceaccount", account, "-n", namespace]).await.unwrap();
    }
    let bind = ["create", "clusterrolebinding", "keys-for-all", "--group=system:unauthenticated"];
    let role = "--clusterrole=system:service-account-issuer-discovery";
    product.kubectl(&[&bind[..], &[role]].concat()).await.unwrap();
    // Both start at once.
    let begun = Instant::now();
    for (name, access) in [("reviewed", reviewed()), ("addressed", addressed())] {
        let server = resource(name, json!({"access": access}));
        product.apply(TEAM, &server.to_string()).await.unwrap();
    }
    tokens_are_reviewed(&product, begun).await;
    tokens_are_addressed(&product, begun).await;
    product.node.stop().unwrap();
}

/// The server has the API server say whose a token is.
fn reviewed() -> Value {
    json!({
        "authentication": {"kubernetes": {}},
        "routes": [{
            "permit": {"paths": ["*"]},
            "when": format!("user with system:serviceaccounts:{APPS} in roles"),
        }],
    })
}

/// Tokens with an audience of the server's own, which the API server does not take.
fn addressed() -> Value {
    json!({
        "authentication": {"oidc": {
            "issuer": "https://kubernetes.default.svc.cluster.local",
            "audience": "my-stack",
            "jwksUri": "https://kubernetes.default.svc/openid/v1/jwks",
            "caBundle": {"configMapName": "kube-root-ca.crt", "key": "ca.crt"},
            "claims": {"sub": "roles"},
        }},
        "routes": [{
            "permit": {"paths": ["*"]},
            "when": format!("user with system:serviceaccount:{APPS}:robot in roles"),
        }],
    })
}

async fn tokens_are_reviewed(product: &Product, begun: Instant) {
    let ready = product.until(TEAM, "reviewed", PATIENCE, is_ready).await.unwrap();
    let robot = token(product, "robot", APPS, &[]).await;
    let stranger = token(product, "stranger", TEAM, &[]).await;
    let callers = [
        ("a caller without a token", None, "401"),
        ("a caller with an unknown token", Some("unknown"), "401"),
        ("an account of the namespace", Some(robot.as_str()), "200"),
        ("another account", Some(stranger.as_str()), "403"),
    ];
    answers(product, url(&ready), &callers);
    kept("A server answers those accounts of the cluster that may call it", begun, "200, 401, 403");
}

async fn tokens_are_addressed(product: &Product, begun: Instant) {
    let ready = product.until(TEAM, "addressed", PATIENCE, is_ready).await.unwrap();
    let audience = ["--audience=my-stack"];
    let robot = token(product, "robot", APPS, &audience).await;
    let stranger = token(product, "stranger", TEAM, &audience).await;
    let for_cluster = token(product, "robot", APPS, &[]).await;
    let callers = [
        ("a caller without a token", None, "401"),
        ("an account with a token for the server", Some(robot.as_str()), "200"),
        ("the same with a token for the API server", Some(for_cluster.as_str()), "401"),
        ("another account", Some(stranger.as_str()), "403"),
    ];
    answers(product, url(&ready), &callers);
    kept("A server answers tokens with an audience of its own alone", begun, "200, 401, 403");
}

async fn token(product: &Product, account: &str, namespace: &str, flags: &[&str]) -> String {
    let create = ["create", "token", account, "-n", namespace];
    product.kubectl(&[&create[..], flags].concat()).await.unwrap().trim().to_owned()
}

/// Each caller with a token or none gets this status.
fn answers(product: &Product, url: &str, callers: &[(&str, Option<&str>, &str)]) {
    let status = ["--output", "/dev/null", "--write-out", "%{http_code}"];
    let models = format!("{url}/v1/models");
    for (caller, token, expected) in callers {
        let header = token.map(|token| format!("authorization: Bearer {token}"));
        let header: Vec<&str> = header.iter().flat_map(|it| ["--header", it]).collect();
        let got = product.curl(&[&status[..], &header, &[&models]].concat()).unwrap();
        assert_eq!(got, *expected, "{caller}");
    }
    let health = format!("{url}/v1/health");
    assert_eq!(product.curl(&[&status[..], &[&health]].concat()).unwrap(), "200");
}
