//! What the tests begin with: a node with both images, namespaces in which Pod Security enforces `restricted`, a server
//! that is asked without a pause.

use std::time::{Duration, Instant};

use llsd_node::product::{Product, push_operator, push_server};
use llsd_node::{Node, NodeOptions};
use llsd_testkit::SMALL_BASE;
use serde_json::{Value, json};

/// Where servers run.
pub const TEAM: &str = "team";
/// A server that starts for the first time reads a lot of Python, after its image was pulled.
pub const PATIENCE: Duration = Duration::from_mins(5);
/// After a minute without an answer the client counts a failure.
const LONGEST_ANSWER: Duration = Duration::from_secs(70);

/// A node with both images in its registry, and nothing installed; `None` where none was asked for or can be had.
pub async fn bare(options: NodeOptions) -> Option<Product> {
    std::env::var_os("LLSD_TEST_NODE")?;
    let node = Node::start_or_skip(options).await?;
    let operator = push_operator(&node).unwrap();
    let server = push_server(&node).await.unwrap();
    Some(Product::new(node, operator, server))
}

/// The same with the operator installed, and a model in the namespace of the servers.
pub async fn installed(options: NodeOptions) -> Option<Product> {
    let product = bare(options).await?;
    product.install().await.unwrap();
    team(&product, TEAM).await;
    Some(product)
}

/// A namespace of servers with a model.
pub async fn team(product: &Product, namespace: &str) {
    product.kubectl(&["create", "namespace", namespace]).await.unwrap();
    let restricted = "pod-security.kubernetes.io/enforce=restricted";
    product.kubectl(&["label", "namespace", namespace, restricted]).await.unwrap();
    product.start_model(namespace).await.unwrap();
}

/// A resource of this name with these fields over a vLLM provider and a request that leaves room for a second pod.
pub fn resource(name: &str, spec: Value) -> Value {
    let mut whole = json!({
        "apiVersion": "llamastack.io/v1alpha2",
        "kind": "LlamaStackDistribution",
        "metadata": {"name": name},
        "spec": {
            "distribution": {"name": "starter"},
            "providers": {"inference": {"provider": "vllm", "endpoint": "http://vllm:8000"}},
            "resources": {"models": ["llama3.2-8b"]},
            "workload": {"resources": {"requests": {"cpu": "100m", "memory": "400Mi"}}},
        },
    });
    merge(&mut whole["spec"], spec);
    whole
}

/// The same in v1alpha1, with a configuration of its own, which [`write_config`] writes.
pub fn v1alpha1(name: &str, server: Value) -> Value {
    let mut whole = json!({
        "apiVersion": "llamastack.io/v1alpha1",
        "kind": "LlamaStackDistribution",
        "metadata": {"name": name},
        "spec": {"replicas": 1, "server": {
            "distribution": {"name": "starter"},
            "containerSpec": {
                "port": 8321,
                "resources": {"requests": {"cpu": "100m", "memory": "400Mi"}},
                "env": [
                    {"name": "VLLM_URL", "value": "http://vllm:8000/v1"},
                    {"name": "SQLITE_STORE_DIR", "value": "/.llama"},
                ],
            },
            "userConfig": {"configMapName": "llama-config"},
        }},
    });
    merge(&mut whole["spec"]["server"], server);
    whole
}

pub async fn write_config(product: &Product, namespace: &str) {
    let config = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "llama-config"},
        "data": {"config.yaml": SMALL_BASE},
    });
    product.apply(namespace, &config.to_string()).await.unwrap();
}

fn merge(into: &mut Value, from: Value) {
    match from {
        Value::Object(fields) if into.is_object() => {
            for (name, value) in fields {
                merge(&mut into[name], value);
            }
        }
        other => *into = other,
    }
}

/// Applies a resource, and waits until the operator has seen it and its server is ready.
pub async fn apply_until_ready(product: &Product, resource: &Value) -> Value {
    let (namespace, name) = (TEAM, resource["metadata"]["name"].as_str().unwrap());
    product.apply(namespace, &resource.to_string()).await.unwrap();
    product.until(namespace, name, PATIENCE, is_ready).await.unwrap()
}

/// Whether the server is as the resource says.
pub fn is_ready(resource: &Value) -> bool {
    let seen = &resource["status"]["observedGeneration"];
    *seen == resource["metadata"]["generation"] && condition(resource, "Ready")["status"] == "True"
}

pub fn condition<'a>(resource: &'a Value, kind: &str) -> &'a Value {
    let mut conditions = resource["status"]["conditions"].as_array().into_iter().flatten();
    conditions.find(|condition| condition["type"] == kind).unwrap_or(&Value::Null)
}

/// The address of a ready server.
pub fn url(resource: &Value) -> &str {
    resource["status"]["serviceURL"].as_str().unwrap()
}

/// The names of a server's pods.
pub async fn pods(product: &Product, name: &str) -> Vec<String> {
    let of_server = format!("app.kubernetes.io/instance={name}");
    let list = ["get", "pods", "-n", TEAM, "-l", &of_server, "-o", "name"];
    product.kubectl(&list).await.unwrap().lines().map(str::to_owned).collect()
}

/// Waits until a server's pods, also those that are ending, are as `holds` says.
pub async fn until_pods(product: &Product, name: &str, holds: impl Fn(&[String]) -> bool) {
    let begun = Instant::now();
    loop {
        let now = pods(product, name).await;
        if holds(&now) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{now:?}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Waits until other pods are in the place of these, which end after their last request.
pub async fn until_replaced(product: &Product, name: &str, before: &[String]) {
    until_pods(product, name, |now| !now.is_empty() && before.iter().all(|pod| !now.contains(pod)))
        .await;
}

/// Says that a promise is kept, how long it took since `begun`, and what else was measured.
pub fn kept(promise: &str, begun: Instant, measured: &str) {
    println!("kept | {promise} | {measured} | {} s |", begun.elapsed().as_secs());
}

/// Lets the client ask for a moment, and expects that it asked, and that nothing ever failed. Gives how often it asked.
pub async fn nothing_failed(product: &Product) -> u64 {
    nothing_failed_in(product, TEAM).await
}

/// The same of the client in another namespace.
pub async fn nothing_failed_in(product: &Product, namespace: &str) -> u64 {
    let (begun, before) = (Instant::now(), product.asked(namespace).unwrap().asked);
    loop {
        tokio::time::sleep(Duration::from_secs(3)).await;
        let asked = product.asked(namespace).unwrap();
        assert!(asked.failed.is_empty(), "{asked:?}");
        if asked.asked > before {
            return asked.asked;
        }
        assert!(begun.elapsed() < LONGEST_ANSWER, "the client asks nothing: {asked:?}");
    }
}
