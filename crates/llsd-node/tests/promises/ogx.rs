//! OGX, the successor of llama-stack's server, by its sample.

use std::fs::read_to_string;
use std::time::Instant;

use llsd_node::NodeOptions;
use llsd_node::product::{push_release, repository};
use llsd_testkit::Release;
use serde_json::json;

use crate::sample::{sample, volumes};
use crate::scene::{TEAM, apply_until_ready, installed, kept, pods, url};

const SAMPLE: &str = "v1alpha2-ogx.yaml";
const NAME: &str = "ogx";
/// A configuration for OGX that needs nothing outside, as `SMALL_BASE` is one for llama-stack.
const BASE: &str = "crates/llsd/tests/servers/pod/bases/ogx.yaml";

#[tokio::test]
async fn the_sample_of_ogx_answers_by_the_name_that_it_gives_its_model() {
    let Some(product) = installed(NodeOptions::default()).await else { return };
    let base = read_to_string(repository(BASE)).unwrap();
    let release = Release::newest_ogx();
    let ogx =
        push_release(&product.node, "ogx/distribution-starter", release, &base).await.unwrap();
    let images = format!("starter: {}\nogx-starter: {ogx}\n", product.server_image());
    product.set("image-overrides", &images).await.unwrap();
    volumes(&product, 1).await;
    product.start_stores(TEAM).await.unwrap();
    product.name_stores(TEAM, TEAM).await.unwrap();
    let key = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "vllm-creds"},
        "stringData": {"token": "sk-stub"},
    });
    product.apply(TEAM, &key.to_string()).await.unwrap();

    let begun = Instant::now();
    let ready = apply_until_ready(&product, &sample(&product, SAMPLE, &json!({})).await).await;
    let status = &ready["status"];
    assert_eq!(status["resolvedDistribution"]["server"], release.to_string(), "{status:#}");
    let answer = product.chat_with(url(&ready), "vllm/chat", "Who answers?").unwrap();
    assert!(answer.contains("llama3.2-8b") && answer.contains("Who answers?"), "{answer}");
    let tables = "select count(*) from information_schema.tables where table_schema = 'public'";
    assert_ne!(product.sql(TEAM, tables).await.unwrap().trim(), "0");
    assert_eq!(pods(&product, NAME).await.len(), 1);
    let measured = format!("{release}, tables in Postgres, files on a volume");
    kept("OGX runs by the name of its distribution and answers a chat", begun, &measured);
    product.node.stop().unwrap();
}
