//! Real servers ask their callers who they are, as `access` says: by tokens of a provider on loopback, and
//! by those of a real API server. `make test` boots the newest llama-stack, `make test-servers` every
//! release that has access.

mod issuer;
mod kubernetes;
mod never_open;
mod ogx;
mod oidc;
mod probes;
mod published;
mod routes;
mod start;

use std::time::Duration;

use llsd_testkit::{LlamaStackServer, Release};
use reqwest::Method;
use serde_json::Value;

/// Ten times what an idle machine needs.
const PATIENCE: Duration = Duration::from_mins(4);

/// The releases that have access, as far as they are to be run.
fn releases() -> Vec<Release> {
    if !Release::is_thorough_test() {
        return vec![Release::newest()];
    }
    let mut releases = Release::under_test().unwrap();
    releases.retain(|release| *release >= Release::V0_3_5);
    releases
}

/// What the server answers to a caller with this token, or without one.
async fn call(
    server: &LlamaStackServer,
    method: Method,
    path: &str,
    token: Option<&str>,
    body: Option<&Value>,
) -> (u16, Value) {
    let mut request = server.request(method, path);
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    if let Some(body) = body {
        request = request.header("content-type", "application/json").body(body.to_string());
    }
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    (status, serde_json::from_str(&answer.text().await.unwrap()).unwrap_or_default())
}

async fn status(server: &LlamaStackServer, path: &str, token: Option<&str>) -> u16 {
    call(server, Method::GET, path, token, None).await.0
}
