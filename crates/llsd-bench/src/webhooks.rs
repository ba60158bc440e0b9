//! The operator with its webhooks: what installs them, and calls of both kinds.

use std::time::{Duration, Instant};

use llsd_install::cluster_wide;
use llsd_testkit::{ControlPlane, free_port};

use crate::api::{Api, resource, resources};
use llsd_testbed::access::eventually;
use llsd_testbed::install::{apply, file};

/// Installs their files; the address at which an operator is to serve them here.
pub async fn install(cluster: &ControlPlane) -> anyhow::Result<String> {
    apply(cluster, file(&cluster_wide(), "webhook.yaml")).await;
    Ok(format!("127.0.0.1:{}", free_port()?))
}

/// Waits until the operator has registered them: no resource is admitted before.
pub async fn until_admitted(api: &Api, namespace: &str) {
    let uri = format!("{}?dryRun=All", resources("v1alpha2", namespace));
    let tried = resource(namespace, 0);
    eventually("resources are admitted", async || api.post(&uri, &tried).await.is_ok()).await;
}

/// Waits until the API server calls them.
pub async fn until_called(api: &Api, namespace: &str) {
    let one = format!("{}?limit=1", resources("v1alpha1", namespace));
    eventually("resources are converted", async || api.list(&one).await.is_ok()).await;
}

/// As many resources tried as there are, which the operator admits, and a list of all, which it
/// converts; how long each took.
pub async fn call(api: &Api, namespace: &str, count: usize) -> anyhow::Result<[Duration; 2]> {
    let begun = Instant::now();
    api.try_resources(namespace, count).await?;
    let admitted = begun.elapsed();
    let begun = Instant::now();
    api.list(&resources("v1alpha1", namespace)).await?;
    Ok([admitted, begun.elapsed()])
}
