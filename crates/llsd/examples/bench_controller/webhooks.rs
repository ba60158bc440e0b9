//! The operator with its webhooks: what installs them, and calls of both kinds.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use futures::{TryStreamExt, stream};
use llsd::manifests::cluster_wide;
use llsd_testkit::ControlPlane;

use crate::CONCURRENCY;
use crate::access::eventually;
use crate::api::{Api, resource};
use crate::install::{apply, file};

/// Installs their files; the arguments with which an operator serves them here.
pub async fn install(cluster: &ControlPlane) -> anyhow::Result<[String; 2]> {
    apply(cluster, file(&cluster_wide(), "webhook.yaml")).await;
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    Ok([format!("--webhook-bind-address={address}"), format!("--webhook-url=https://{address}")])
}

/// Waits until the API server calls them.
pub async fn until_called(api: &Api) {
    eventually("resources are converted", async || {
        api.list("/apis/llamastack.io/v1alpha1/llamastackdistributions?limit=1").await.is_ok()
    })
    .await;
}

/// As many new resources as there are, which the operator admits, but nobody keeps; then a list that
/// it converts. How long each took.
pub async fn call(api: &Api, namespace: &str, count: usize) -> anyhow::Result<[Duration; 2]> {
    let resources = |version| {
        format!("/apis/llamastack.io/{version}/namespaces/{namespace}/llamastackdistributions")
    };
    let begun = Instant::now();
    let tried = format!("{}?dryRun=All", resources("v1alpha2"));
    stream::iter((0..count).map(Ok::<_, anyhow::Error>))
        .try_for_each_concurrent(CONCURRENCY, async |number| {
            api.post(&tried, &resource(namespace, count + number)).await.map(drop)
        })
        .await?;
    let admitted = begun.elapsed();
    let begun = Instant::now();
    api.list(&resources("v1alpha1")).await?;
    Ok([admitted, begun.elapsed()])
}
