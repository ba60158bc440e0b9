//! What the samples of `deploy/samples` say that they need, as far as this cluster can have it.

use llsd_node::product::{Product, push_release};
use llsd_testkit::{Pki, Release, SMALL_BASE};
use serde_json::{Value, json};

/// A model that the samples have Ollama serve.
const OLLAMA_MODEL: &str = "llama3.2:1b";

/// What samples expect of the configuration of `starter` beyond the small one: Ollama, and tools.
const INFERENCE: &str = r#"  inference:
  - provider_id: ${env.OLLAMA_URL:+ollama}
    provider_type: remote::ollama
    config: {base_url: "${env.OLLAMA_URL:=http://localhost:11434/v1}"}
"#;
const TOOLS: &str = r#"  tool_runtime:
  - provider_id: tavily-search
    provider_type: remote::tavily-search
    config: {api_key: "${env.TAVILY_SEARCH_API_KEY:=}", max_results: 3}
  - provider_id: file-search
    provider_type: inline::file-search
storage:
"#;

/// Has `starter` be an image with such a configuration, and gives it.
pub async fn starter(product: &Product) -> String {
    let base = SMALL_BASE
        .replace("vector_io, files]", "vector_io, files, tool_runtime]")
        .replace("  inference:\n  -", &format!("{INFERENCE}  -"))
        .replace("storage:\n  backends", &format!("{TOOLS}  backends"));
    let (node, release) = (&product.node, Release::newest());
    let image = push_release(node, "distribution-samples", release, &base).await.unwrap();
    product.set("image-overrides", &format!("starter: {image}\n")).await.unwrap();
    image
}

/// Prepares a namespace with everything that samples name.
pub async fn prepare(product: &Product, namespace: &str) {
    let restricted = "pod-security.kubernetes.io/enforce=restricted";
    product.kubectl(&["label", "namespace", namespace, restricted]).await.unwrap();
    for namespace in ["gpu", "local", "models", "ollama-dist", "trust", "vllm-ns"] {
        product.kubectl(&["create", "namespace", namespace]).await.unwrap();
    }
    let pki = tempfile::tempdir().unwrap();
    let pki = Pki::create(pki.path().join("pki")).unwrap();
    let authority = std::fs::read_to_string(pki.authority_file()).unwrap();
    apply(product, namespace, &secrets(&pki, namespace)).await;
    apply(product, namespace, &config_maps(&authority)).await;
    apply(product, namespace, &others()).await;
    let corporate = json!({"root.crt": authority, "issuing.crt": authority});
    apply(product, "trust", &[config_map("corporate-ca", &corporate)]).await;
    product.set("caBundleNamespaces", "[trust]").await.unwrap();
    let node = ["label", "node", "node-1", "example.com/pool=inference"];
    product.kubectl(&node).await.unwrap();
    backends(product, namespace).await;
}

async fn apply(product: &Product, namespace: &str, objects: &[Value]) {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    product.apply(namespace, &list.to_string()).await.unwrap();
}

/// Model servers, Redis and Postgres, under all names that samples have for them.
async fn backends(product: &Product, namespace: &str) {
    product.start_model(namespace).await.unwrap();
    product.start_models(namespace, "ollama", 11434, &[OLLAMA_MODEL]).await.unwrap();
    product.start_stores(namespace).await.unwrap();
    product.name_stores(namespace, namespace).await.unwrap();
    for (name, other, backend) in [
        ("vllm", "gpu", "vllm"),
        ("vllm-service", "vllm-ns", "vllm"),
        ("ollama", "local", "ollama"),
        ("ollama", "models", "ollama"),
        ("ollama-server-service", "ollama-dist", "ollama"),
    ] {
        let place = format!("{backend}.{namespace}.svc.cluster.local");
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"type": "ExternalName", "externalName": place},
        });
        product.apply(other, &service.to_string()).await.unwrap();
    }
}

fn secrets(pki: &Pki, namespace: &str) -> Vec<Value> {
    let names =
        ["tls", "full"].map(|server| format!("{server}-service.{namespace}.svc.cluster.local"));
    let served = pki.server_at("llama", &[&names[0], &names[1]]).unwrap();
    let read = |path| std::fs::read_to_string(path).unwrap();
    let opaque = |name: &str, key: &str| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
            "stringData": {key: "sk-stub"},
        })
    };
    vec![
        opaque("azure-openai", "api-key"),
        opaque("search-creds", "tavily"),
        opaque("vllm-creds", "token"),
        opaque("vllm-secret", "api-key"),
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "llama-tls"},
            "type": "kubernetes.io/tls",
            "stringData": {"tls.crt": read(served.certificate), "tls.key": read(served.key)},
        }),
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "registry-pull"},
            "type": "kubernetes.io/dockerconfigjson",
            "stringData": {".dockerconfigjson": "{\"auths\": {}}"},
        }),
    ]
}

fn config_maps(authority: &str) -> Vec<Value> {
    let bundle =
        json!({"ca-bundle.crt": authority, "root.crt": authority, "issuing.crt": authority});
    let file = json!({"config.yaml": SMALL_BASE});
    vec![
        config_map("private-ca", &bundle),
        config_map("custom-ca", &bundle),
        config_map("custom-ca-bundle", &bundle),
        config_map("my-full-config", &file),
        config_map("llama-stack-config", &file),
        config_map("server-config", &file),
        config_map("server-env", &json!({"GREETING": "hello"})),
        config_map("prompts", &json!({"greeting.txt": "hello"})),
    ]
}

fn config_map(name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

/// Accounts, and the claim of the shared volume.
fn others() -> Vec<Value> {
    let account = |name: &str| json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}});
    vec![
        account("custom-sa"),
        account("llama"),
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "models"},
            "spec": {
                "accessModes": ["ReadWriteMany"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }),
    ]
}
