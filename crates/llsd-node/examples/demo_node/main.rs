//! `make demo-node`: the whole product on a real node. The operator's own image in its pods, installed as
//! docs/install.md says; a real llama-stack server in a pod, its image pulled from a registry by containerd; a stub in
//! the place of the model, in a pod too.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use llsd_node::product::{Product, SERVED_MODEL, push_operator, push_server, repository};
use llsd_node::{Node, NodeOptions};
use llsd_testkit::{Narrator, run_demo};
use serde_json::Value;

const SAMPLE: &str = "deploy/samples/v1alpha2-simple.yaml";
const NAME: &str = "simple";
const NAMESPACE: &str = "default";
const OTHER_VERSION: &str = "llamastackdistributions.v1alpha1.llamastack.io";
/// A server that starts for the first time reads a lot of Python, after its image was pulled.
const PATIENCE: Duration = Duration::from_mins(10);

fn main() -> ExitCode {
    run_demo(demonstrate)
}

async fn demonstrate(check: bool) -> anyhow::Result<()> {
    let say = Narrator::new();
    let product = start(&say).await?;

    say.step(&format!("Applying {SAMPLE}"));
    let sample = std::fs::read_to_string(repository(SAMPLE))?;
    say.quote(&sample);
    product.apply(NAMESPACE, &sample).await?;

    say.step("Waiting until it is Ready");
    let ready = product.until(NAMESPACE, NAME, PATIENCE, |resource| say.phase(resource)).await?;
    say.quote(&product.llsd(&["top", "--once", "-A"])?);

    say.step("The generated configuration, as the server reads it");
    let config = ready["status"]["configGeneration"]["configMapName"].as_str().unwrap_or_default();
    let config = ["get", "configmap", config, "-o", r"jsonpath={.data.config\.yaml}"];
    say.quote_section(&product.kubectl(&config).await?, "providers:", 24);

    say.step("The same resource in the other version, through the operator's webhook");
    let spec = ["get", OTHER_VERSION, NAME, "-o", "jsonpath={.spec}"];
    say.quote(&product.kubectl(&spec).await?);

    let url =
        ready["status"]["serviceURL"].as_str().context("the status has the server's address")?;
    ask(&product, &say, url)?;
    if check {
        say.step("Everything works");
        return product.node.stop();
    }
    invite(&product, &say, url);
    tokio::signal::ctrl_c().await.context("cannot wait for Ctrl-C")?;
    product.node.stop()
}

/// The node with everything that the sample needs.
async fn start(say: &Narrator) -> anyhow::Result<Product> {
    say.step(
        "Starting a Kubernetes node: kubelet, containerd, control plane (built once, then cached)",
    );
    let node = Node::start(NodeOptions::default()).await?;
    say.detail(&format!("export KUBECONFIG={}", node.kubeconfig().display()));

    say.step(
        "Building the operator's image, as it is released, and pushing it to the node's registry",
    );
    let operator = push_operator(&node)?;

    say.step("Assembling the image of the real llama-stack server, and pushing it");
    let server = push_server(&node).await?;
    say.detail(&server);

    say.step("Installing the operator as docs/install.md says");
    say.command(&format!("llsd manifests --image {operator} | kubectl apply --server-side -f -"));
    let product = Product::new(node, operator, server);
    product.install().await?;

    say.step("A stub answers as the vLLM server http://vllm:8000, in a pod");
    product.start_model(NAMESPACE).await?;
    Ok(product)
}

/// Asks the server for its providers, and the model through the server for an answer.
fn ask(product: &Product, say: &Narrator, url: &str) -> anyhow::Result<()> {
    say.step("Asking the server through its Service: GET /v1/providers");
    let listed: Value = serde_json::from_str(&product.curl(&[&format!("{url}/v1/providers")])?)?;
    let providers = listed["data"].as_array().context("the server lists providers")?;
    let mut found = providers.iter().filter(|provider| provider["api"] == "inference");
    let vllm = found.find(|provider| provider["provider_id"] == "vllm");
    let vllm = vllm.context("the server does not list the provider of the resource")?;
    say.detail(&format!("vllm {}", vllm["provider_type"].as_str().unwrap_or_default()));
    say.step(&format!("Asking {SERVED_MODEL} through the server: POST /v1/chat/completions"));
    say.quote(&product.chat(url, "Who answers?")?);
    Ok(())
}

fn invite(product: &Product, say: &Narrator, url: &str) {
    say.step("It stays up until Ctrl-C. To try, in another terminal:");
    say.command(&format!("export KUBECONFIG={}", product.node.kubeconfig().display()));
    say.command("llsd top -A                      # all servers, live");
    say.command("kubectl get llsd,deploy,pods -A");
    say.command(&format!(
        "kubectl edit llsd {NAME}       # add a model, and watch the server roll"
    ));
    say.command(&format!("make node-shell                # then: curl -s {url}/v1/models"));
}
