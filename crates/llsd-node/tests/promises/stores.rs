//! State outside of the pods, in Redis and Postgres, as docs/tasks/storage.md promises it.

use std::time::Instant;

use llsd_node::NodeOptions;
use llsd_node::product::{Product, SERVED_MODEL};
use serde_json::{Value, json};

use crate::sample::sample;
use crate::scene::{
    PATIENCE, TEAM, apply_until_ready, installed, is_ready, kept, nothing_failed, pods,
    until_replaced, url,
};

const SAMPLE: &str = "v1alpha2-redis-postgres.yaml";
const NAME: &str = "redis-postgres";
/// Where the sample has its Redis.
const STORES: &str = "default";

#[tokio::test]
async fn what_servers_store_in_redis_and_postgres_outlives_all_their_pods() {
    let Some(product) = installed(NodeOptions::default()).await else { return };
    product.start_stores(STORES).await.unwrap();
    product.name_stores(TEAM, STORES).await.unwrap();

    let begun = Instant::now();
    let ready = apply_until_ready(&product, &server(&product, 4096).await).await;
    let url = url(&ready);
    let answer = product.chat(url, "Who answers?").unwrap();
    assert!(answer.contains("Who answers?"), "{answer}");
    let keys = product.redis_keys(STORES).await.unwrap();
    assert!(keys.contains("distributions:registry"), "{keys}");
    kept("Two pods share state in a Redis and a Postgres with passwords", begun, "");

    product.start_client(TEAM, url).await.unwrap();
    a_change_loses_no_request(&product).await;
    what_is_stored_outlives_the_pods(&product, url).await;
    product.node.stop().unwrap();
}

/// The sample with two pods, and a model that they ask.
async fn server(product: &Product, max_tokens: u32) -> Value {
    let changes = json!({"spec": {
        "providers": {"inference": {
            "provider": "vllm", "endpoint": "http://vllm:8000", "settings": {"max_tokens": max_tokens},
        }},
        "resources": {"models": ["llama3.2-8b"]},
        "workload": {"replicas": 2, "resources": {"requests": {"cpu": "100m", "memory": "400Mi"}}},
    }});
    sample(product, SAMPLE, &changes).await
}

async fn a_change_loses_no_request(product: &Product) {
    nothing_failed(product).await;
    let begun = Instant::now();
    let before = pods(product, NAME).await;
    apply_until_ready(product, &server(product, 2048).await).await;
    until_replaced(product, NAME, &before).await;
    let asked = nothing_failed(product).await;
    let measured = format!("{asked} requests, none lost");
    kept("A change of two pods over Redis and Postgres is rolled out", begun, &measured);
}

async fn what_is_stored_outlives_the_pods(product: &Product, url: &str) {
    let text = json!([{"type": "input_text", "text": "Remember me"}]);
    let items = json!({"items": [{"type": "message", "role": "user", "content": text}]});
    let conversation = post(product, &format!("{url}/v1/conversations"), &items);
    let conversation = format!("/v1/conversations/{}", conversation["id"].as_str().unwrap());
    let question = json!({
        "model": SERVED_MODEL, "messages": [{"role": "user", "content": "Remember me, too"}],
    });
    let completion = post(product, &format!("{url}/v1/chat/completions"), &question);
    let completion = format!("/v1/chat/completions/{}", completion["id"].as_str().unwrap());
    // Completions are written after they were answered.
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;

    let begun = Instant::now();
    let before = pods(product, NAME).await;
    let delete = ["delete", "-n", TEAM, "--grace-period=0", "--force"];
    let names: Vec<&str> = before.iter().map(String::as_str).collect();
    product.kubectl(&[&delete[..], &names].concat()).await.unwrap();
    let is_whole =
        |resource: &Value| is_ready(resource) && resource["status"]["availableReplicas"] == 2;
    product.until(TEAM, NAME, PATIENCE, |resource| !is_whole(resource)).await.unwrap();
    product.until(TEAM, NAME, PATIENCE, is_whole).await.unwrap();
    until_replaced(product, NAME, &before).await;

    let read = |path: &str| product.curl(&[&format!("{url}{path}")]).unwrap();
    let items = read(&format!("{conversation}/items"));
    assert!(items.contains("Remember me"), "{items}");
    let kept_completion = read(&completion);
    assert!(kept_completion.contains("Remember me, too"), "{kept_completion}");
    let measured = "a conversation and a chat completion are read back by id";
    kept("All pods over Redis and Postgres are lost at once", begun, measured);
}

fn post(product: &Product, url: &str, body: &Value) -> Value {
    let header = "content-type: application/json";
    let answer = product.curl(&["--header", header, "--data", &body.to_string(), url]).unwrap();
    serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{url}: {answer}"))
}
