//! The image of a real server.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use llsd_testkit::{Release, SMALL_BASE};
use serde_json::{Map, Value};

use crate::Node;

/// Assembles the image of the newest llama-stack, and pushes it: minutes the first time.
pub async fn push_server(node: &Node) -> anyhow::Result<String> {
    push_release(node, "distribution-starter", Release::newest(), SMALL_BASE).await
}

/// The same for any release, with a configuration of its own.
pub async fn push_release(
    node: &Node,
    repository: &str,
    release: Release,
    base: &str,
) -> anyhow::Result<String> {
    let labels = labels(release, base);
    let image = tokio::task::spawn_blocking(move || crate::server(release, &labels)).await??;
    node.push(repository, release.version(), &image).await
}

/// What the distribution's image says of itself.
fn labels(release: Release, base: &str) -> Map<String, Value> {
    let all = [
        ("io.llamastack.config.base64", BASE64_STANDARD.encode(base)),
        ("org.opencontainers.image.version", release.version().to_owned()),
    ];
    all.into_iter().map(|(name, value)| (name.to_owned(), Value::from(value))).collect()
}
