//! Every sample of `deploy/samples` on the node: it becomes ready, or says what it waits for as the documentation has it.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use llsd_node::NodeOptions;
use llsd_node::product::{Product, repository};
use serde_json::{Value, json};

use crate::provider_image::custom;
use crate::sample::{sample, volumes};
use crate::sample_needs::{prepare, starter};
use crate::scene::{condition, installed, is_ready, kept};

/// Where the samples find what they name.
const NAMESPACE: &str = "default";
/// Four servers at a time start on two processors.
const LANES: usize = 4;
const PATIENCE: Duration = Duration::from_mins(6);

/// Samples that become ready.
const READY: [&str; 37] = [
    "v1alpha1-autoscaling.yaml",
    "v1alpha1-basic.yaml",
    "v1alpha1-network.yaml",
    "v1alpha1-ollama-volume.yaml",
    "v1alpha1-ollama.yaml",
    "v1alpha1-override-config.yaml",
    "v1alpha1-vllm-api-key.yaml",
    "v1alpha1-with-ca-bundle.yaml",
    "v1alpha1-with-network.yaml",
    "v1alpha1-with-user-config.yaml",
    "v1alpha2-azure.yaml",
    "v1alpha2-ca-bundle.yaml",
    "v1alpha2-custom-image.yaml",
    "v1alpha2-default-config.yaml",
    "v1alpha2-disabled.yaml",
    "v1alpha2-embedding-model.yaml",
    "v1alpha2-expose-default.yaml",
    "v1alpha2-expose-hostname.yaml",
    "v1alpha2-external-providers.yaml",
    "v1alpha2-full.yaml",
    "v1alpha2-high-availability.yaml",
    "v1alpha2-migrated-autoscaling.yaml",
    "v1alpha2-migrated-network.yaml",
    "v1alpha2-migrated-ollama-volume.yaml",
    "v1alpha2-migrated-ollama.yaml",
    "v1alpha2-migrated-override-config.yaml",
    "v1alpha2-migrated-vllm-api-key.yaml",
    "v1alpha2-multi-provider.yaml",
    "v1alpha2-override-config.yaml",
    "v1alpha2-pod-settings.yaml",
    "v1alpha2-postgres.yaml",
    "v1alpha2-quickstart.yaml",
    "v1alpha2-simple.yaml",
    "v1alpha2-slow-start.yaml",
    "v1alpha2-telemetry.yaml",
    "v1alpha2-tls.yaml",
    "v1alpha2-tools-and-shields.yaml",
];

/// Samples that need what this cluster lacks, with the reason in `Ready` and words of its message.
const WAITING: [(&str, &str, &str); 2] = [
    ("v1alpha2-access.yaml", "ServerFailing", "login.example.com"),
    ("v1alpha2-expose-gateway.yaml", "KindNotServed", "HTTPRoute"),
];

/// Samples that are not applied here, and why.
const ELSEWHERE: [(&str, &str); 3] = [
    ("v1alpha2-ogx.yaml", "ogx.rs asks its server, which shares no database with llama-stack"),
    ("v1alpha2-redis-postgres.yaml", "stores.rs asks its server"),
    ("v1alpha2-vector-store.yaml", "Debian 12 has no pgvector for its Postgres"),
];

#[test]
fn every_sample_is_in_one_of_the_lists() {
    let folder = std::fs::read_dir(repository("deploy/samples")).unwrap();
    let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let there: BTreeSet<String> = names.filter(|name| name != "README.md").collect();
    let waiting = WAITING.iter().map(|(file, ..)| *file);
    let listed = READY.into_iter().chain(waiting).chain(ELSEWHERE.iter().map(|(file, _)| *file));
    let listed: Vec<String> = listed.map(str::to_owned).collect();
    assert_eq!(listed.iter().cloned().collect::<BTreeSet<_>>(), there);
    assert_eq!(listed.len(), there.len(), "a sample is in two lists");
}

#[tokio::test]
async fn every_sample_becomes_ready_or_says_what_it_waits_for() {
    let Some(product) = installed(NodeOptions::default()).await else { return };
    prepare(&product, NAMESPACE).await;
    volumes(&product, 10).await;
    let (server, provider) = (starter(&product).await, custom(&product));

    let begun = Instant::now();
    // Those that wait for something take longest to say so.
    let waiting = WAITING.iter().map(|(file, ..)| *file);
    let queue: Vec<&str> = waiting.chain(READY).collect();
    let rest = Mutex::new(queue.into_iter());
    let next = || rest.lock().unwrap().next();
    let lane = async || {
        let mut wrong = Vec::new();
        while let Some(file) = next() {
            let changes = changes(file, &server, &provider);
            if let Err(error) = tried(&product, file, &changes).await {
                wrong.push(format!("{file}: {error:#}"));
            }
        }
        wrong
    };
    let lanes: [_; LANES] = tokio::join!(lane(), lane(), lane(), lane()).into();
    let wrong = lanes.concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let measured = format!(
        "{} become ready, {} say what they wait for, {} are tested elsewhere",
        READY.len(),
        WAITING.len(),
        ELSEWHERE.len()
    );
    kept("Every sample is applied", begun, &measured);
    product.node.stop().unwrap();
}

/// What stands in the place of images that are not here, and of more than two processors.
fn changes(file: &str, server: &str, provider: &str) -> Value {
    let small = json!({"requests": {"cpu": "50m", "memory": "300Mi"}, "limits": null});
    let external = json!({"inference": [{
        "providerId": "custom-inference",
        "image": provider,
        "config": {"url": "http://custom-backend:9000", "timeout": 30},
    }]});
    let spec = match file {
        "v1alpha1-autoscaling.yaml" | "v1alpha1-basic.yaml" => {
            json!({"server": {"containerSpec": {"resources": small}}})
        }
        "v1alpha1-with-user-config.yaml" => {
            json!({"server": {"distribution": {"image": server}}})
        }
        "v1alpha2-custom-image.yaml" => json!({"distribution": {"image": server}}),
        "v1alpha2-external-providers.yaml" => json!({"externalProviders": external}),
        // Without pgvector, see `ELSEWHERE`.
        "v1alpha2-full.yaml" => json!({
            "externalProviders": external,
            "providers": {"vectorIo": null},
            "workload": {"resources": small},
        }),
        "v1alpha2-high-availability.yaml"
        | "v1alpha2-migrated-autoscaling.yaml"
        | "v1alpha2-pod-settings.yaml" => json!({"workload": {"resources": small}}),
        _ => json!({}),
    };
    json!({"spec": spec})
}

/// Applies a sample, waits until it is as its list says, and deletes it.
async fn tried(product: &Product, file: &str, changes: &Value) -> anyhow::Result<()> {
    let begun = Instant::now();
    let resource = sample(product, file, changes).await;
    let name = resource["metadata"]["name"].as_str().unwrap_or_default();
    product.apply(NAMESPACE, &resource.to_string()).await?;
    let waits = WAITING.iter().find(|(waits, ..)| *waits == file);
    let holds = |resource: &Value| match waits {
        None => is_ready(resource),
        Some((_, reason, words)) => {
            let ready = condition(resource, "Ready");
            let message = ready["message"].as_str().unwrap_or_default();
            ready["reason"] == *reason && message.contains(words)
        }
    };
    let found = product.until(NAMESPACE, name, PATIENCE, holds).await;
    println!("sample {file}: {} s", begun.elapsed().as_secs());
    if let Ok(found) = &found {
        println!("  {}", condition(found, "Ready")["message"]);
    }
    product.kubectl(&["delete", "llsd", name, "-n", NAMESPACE]).await?;
    // What drains keeps the room of what comes next.
    let of_server = format!("app.kubernetes.io/instance={name}");
    let pods = ["delete", "pods", "-n", NAMESPACE, "-l", &of_server, "--grace-period=1"];
    product.kubectl(&[&pods[..], &["--wait=false"]].concat()).await?;
    found.map(drop)
}
