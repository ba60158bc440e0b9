//! What is brought into a server's pod: external providers and image volumes.

use std::time::Instant;

use llsd_node::product::Product;
use llsd_node::{NodeOptions, busybox};
use serde_json::{Value, json};

use crate::provider_image::{custom, greeting};
use crate::scene::{
    PATIENCE, TEAM, apply_until_ready, condition, installed, kept, pods, resource, url,
};

const NAME: &str = "extended";

#[tokio::test]
async fn a_server_takes_in_external_providers_and_image_volumes() {
    let Some(product) = installed(NodeOptions::default()).await else { return };
    product.start_models(TEAM, "custom-backend", 9000, &["far"]).await.unwrap();
    let token = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "custom"},
        "stringData": {"token": "sk-stub"},
    });
    product.apply(TEAM, &token.to_string()).await.unwrap();
    let images = [greeting(&product, "0.1.0", ""), custom(&product)];
    let tools = product.node.push("tests/tools", "1", &busybox().unwrap()).await.unwrap();
    let whole = extended(&images, &tools);

    external_providers_are_installed_and_serve(&product, &whole).await;
    an_image_is_mounted_as_a_volume(&product).await;
    what_does_not_fit_reaches_no_pod(&product, &whole).await;
    product.node.stop().unwrap();
}

/// A server with a tool, with models from elsewhere, and with the programs of an image.
fn extended([greeting, custom]: &[String; 2], tools: &str) -> Value {
    let spec = json!({
        "externalProviders": {
            "toolRuntime": [
                {"providerId": "greet", "image": greeting, "config": {"greeting": "Good morning"}},
            ],
            "inference": [{
                "providerId": "far-away",
                "image": custom,
                "config": {"url": "http://custom-backend:9000", "timeout": 30},
                "secretRefs": {"token": {"name": "custom", "key": "token"}},
            }],
        },
        "workload": {"overrides": {
            "volumes": [{"name": "tools", "image": {"reference": tools}}],
            "volumeMounts": [{"name": "tools", "mountPath": "/tools"}],
        }},
    });
    resource(NAME, spec)
}

async fn external_providers_are_installed_and_serve(product: &Product, whole: &Value) {
    let begun = Instant::now();
    let ready = apply_until_ready(product, whole).await;
    let are_ready = |resource: &Value| {
        let found = resource["status"]["externalProviders"].as_array();
        found.is_some_and(|all| all.len() == 2 && all.iter().all(|one| one["phase"] == "Ready"))
    };
    let told = product.until(TEAM, NAME, PATIENCE, are_ready).await.unwrap();
    for one in told["status"]["externalProviders"].as_array().unwrap() {
        assert!(one["image"].as_str().unwrap().contains("@sha256:"), "{one}");
    }
    let names = "jsonpath={.spec.template.spec.initContainers[*].name}";
    let names = ["get", "deployment", NAME, "-n", TEAM, "-o", names];
    let names = product.kubectl(&names).await.unwrap();
    assert_eq!(names, "prepare-installer describe-server install-far-away install-greet");

    let url = url(&ready);
    let listed: Value =
        serde_json::from_str(&product.curl(&[&format!("{url}/v1/providers")]).unwrap()).unwrap();
    let of = |id: &str| {
        let mut all = listed["data"].as_array().unwrap().iter();
        all.find(|one| one["provider_id"] == id).unwrap_or_else(|| panic!("{listed:#}"))
    };
    assert_eq!(of("greet")["provider_type"], "inline::greeting");
    assert_eq!(of("greet")["config"]["greeting"], "Good morning");
    assert_eq!(of("far-away")["provider_type"], "remote::custom");
    let answer = product.chat_with(url, "far-away/far", "Who answers?").unwrap();
    assert!(answer.contains("Who answers?"), "{answer}");
    let measured = "a tool is listed, a model answers";
    kept("Providers from images of their own are installed without their help", begun, measured);
}

async fn an_image_is_mounted_as_a_volume(product: &Product) {
    let begun = Instant::now();
    let server = format!("deploy/{NAME}");
    let run = ["exec", "-n", TEAM, &server, "-c", "llama-stack", "--"];
    let echo = ["/tools/bin/busybox", "echo", "from an image"];
    let said = product.kubectl(&[&run[..], &echo].concat()).await.unwrap();
    assert_eq!(said.trim(), "from an image");
    kept("An image is mounted as a volume (`overrides.volumes`)", begun, "");
}

async fn what_does_not_fit_reaches_no_pod(product: &Product, whole: &Value) {
    let begun = Instant::now();
    let before = pods(product, NAME).await;
    let mut changed = whole.clone();
    let provider = changed.pointer_mut("/spec/externalProviders/toolRuntime/0").unwrap();
    provider["image"] = greeting(product, "0.2.0", "import httpx2\n").into();
    product.apply(TEAM, &changed.to_string()).await.unwrap();
    let is_refused = |resource: &Value| condition(resource, "Preflight")["status"] == "False";
    let told = product.until(TEAM, NAME, PATIENCE, is_refused).await.unwrap();
    let told = condition(&told, "Preflight")["message"].to_string();
    assert!(told.contains("needs httpx2, which is not installed"), "{told}");
    assert_eq!(pods(product, NAME).await, before);

    let mut misplaced = whole.clone();
    let providers = misplaced["spec"]["externalProviders"].as_object_mut().unwrap();
    let tool = providers.remove("toolRuntime").unwrap();
    providers["inference"].as_array_mut().unwrap().push(tool[0].clone());
    product.apply(TEAM, &misplaced.to_string()).await.unwrap();
    let is_told = |resource: &Value| condition(resource, "ConfigGenerated")["status"] == "False";
    let told = product.until(TEAM, NAME, PATIENCE, is_told).await.unwrap();
    let told = condition(&told, "ConfigGenerated")["message"].to_string();
    let words = "the image provides the API tool_runtime, not inference \
                 (move the provider to externalProviders.toolRuntime)";
    assert!(told.contains(words), "{told}");
    assert_eq!(pods(product, NAME).await, before);
    kept("An external provider that does not fit reaches no pod", begun, "");
}
