//! `make demo-node`: the whole product on a real node. The operator's own image in its pods, installed as
//! docs/install.md says; a real llama-stack server in a pod, its image pulled from a registry by containerd; a stub in
//! the place of the model, in a pod too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use llsd_node::{Node, NodeOptions, REGISTRY};
use llsd_testkit::{Narrator, Release, SMALL_BASE};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep};

const SAMPLE: &str = "deploy/samples/v1alpha2-simple.yaml";
const NAME: &str = "simple";
const OTHER_VERSION: &str = "llsd.v1alpha1.llamastack.io";
/// The model of the sample, and what it is called at the server.
const MODEL: &str = "llama3.2-8b";
const SERVED: &str = "vllm/llama3.2-8b";
const MODEL_STUB: &str = include_str!("model_stub.py");
const OPERATOR: &str = "llsd-operator";
const OPERATOR_NAMESPACE: &str = "llama-stack-k8s-operator-system";
const OPERATOR_DEPLOYMENT: &str = "deployment/llama-stack-k8s-operator-controller-manager";
/// A server that starts for the first time reads a lot of Python, after its image was pulled.
const PATIENCE: Duration = Duration::from_mins(10);

#[tokio::main]
async fn main() -> ExitCode {
    let check = match std::env::args().nth(1).as_deref() {
        None => false,
        Some("--check") => true,
        Some(other) => {
            eprintln!("usage: demo_node [--check]; not {other}");
            return ExitCode::from(2);
        }
    };
    match demonstrate(check).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\ndemo: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn demonstrate(check: bool) -> anyhow::Result<()> {
    let say = Narrator::new();
    say.step(
        "Starting a Kubernetes node: kubelet, containerd, control plane (built once, then cached)",
    );
    let node = Node::start(NodeOptions::default()).await?;
    let demo = Demo { node, say };
    demo.say.detail(&format!("export KUBECONFIG={}", demo.node.kubeconfig().display()));

    demo.say.step(
        "Building the operator's image, as it is released, and pushing it to the node's registry",
    );
    let image = format!("{}/{OPERATOR}:demo", demo.node.registry());
    run(Command::new(repository("scripts/image")).args([&image, "--plain-http"]))?;

    demo.say.step("Assembling the image of the real llama-stack server, and pushing it");
    let server = demo.push_server().await?;
    demo.say.detail(&server);

    demo.say.step("Installing the operator as docs/install.md says");
    demo.install(&server).await?;

    demo.say.step("A stub answers as the vLLM server http://vllm:8000, in a pod");
    demo.apply(&model(&server)).await?;
    demo.wait("deployment/vllm", "condition=Available").await?;

    demo.say.step(&format!("Applying {SAMPLE}"));
    let sample = std::fs::read_to_string(repository(SAMPLE))?;
    demo.say.quote(&sample);
    demo.apply(&sample).await?;

    demo.say.step("Waiting until it is Ready");
    let ready = demo.until_ready().await?;
    demo.say.quote(&demo.llsd(&["top", "--once", "-A"])?);

    demo.say.step("The generated configuration, as the server reads it");
    let config = ready["status"]["configGeneration"]["configMapName"].as_str().unwrap_or_default();
    let config =
        demo.kubectl(&["get", "configmap", config, "-o", r"jsonpath={.data.config\.yaml}"]).await?;
    demo.say.quote(&section(&config, "providers:", 24));

    demo.say.step("The same resource in the other version, through the operator's webhook");
    let spec = ["get", OTHER_VERSION, NAME, "-o", "jsonpath={.spec}"];
    demo.say.quote(&demo.kubectl(&spec).await?);

    let url =
        ready["status"]["serviceURL"].as_str().context("the status has the server's address")?;
    demo.ask(url)?;
    if check {
        demo.say.step("Everything works");
        return demo.node.stop();
    }
    demo.invite(url);
    tokio::signal::ctrl_c().await.context("cannot wait for Ctrl-C")?;
    demo.node.stop()
}

struct Demo {
    node: Node,
    say: Narrator,
}

impl Demo {
    async fn push_server(&self) -> anyhow::Result<String> {
        let labels =
            tokio::task::spawn_blocking(|| llsd_node::server(Release::newest(), &labels()));
        let image = labels.await??;
        self.node.push("distribution-starter", Release::newest().version(), &image).await
    }

    async fn install(&self, server: &str) -> anyhow::Result<()> {
        let image = format!("{REGISTRY}/{OPERATOR}:demo");
        self.say
            .command(&format!("llsd manifests --image {image} | kubectl apply --server-side -f -"));
        self.apply(&self.llsd(&["manifests", "--image", &image])?).await?;
        let config = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "llama-stack-operator-config", "namespace": OPERATOR_NAMESPACE},
            "data": {
                "image-overrides": format!("starter: {server}\n"),
                "registries": format!("insecureHosts: ['{REGISTRY}']\n"),
            },
        });
        self.apply(&config.to_string()).await?;
        let status =
            ["rollout", "status", OPERATOR_DEPLOYMENT, "-n", OPERATOR_NAMESPACE, "--timeout=5m"];
        self.say.quote(&self.kubectl(&status).await?);
        Ok(())
    }

    /// Tells each new phase and each condition on the way.
    async fn until_ready(&self) -> anyhow::Result<Value> {
        let begun = Instant::now();
        let mut told = String::new();
        loop {
            let resource: Value =
                serde_json::from_str(&self.kubectl(&["get", "llsd", NAME, "-o", "json"]).await?)?;
            let conditions = resource["status"]["conditions"].as_array().into_iter().flatten();
            let conditions: BTreeMap<&str, &Value> = conditions
                .filter_map(|condition| Some((condition["type"].as_str()?, condition)))
                .collect();
            let ready = conditions.get("Ready").copied().unwrap_or(&Value::Null);
            let phase = resource["status"]["phase"].as_str().unwrap_or_default();
            let line = format!("{phase:<13} {}", ready["message"].as_str().unwrap_or_default());
            if line != told && !phase.is_empty() {
                self.say.detail(&line);
                told = line;
            }
            if ready["status"] == "True" {
                return Ok(resource);
            }
            if begun.elapsed() > PATIENCE {
                let pods = self.kubectl(&["describe", "pods"]).await.unwrap_or_default();
                bail!("not Ready within {PATIENCE:?}:\n{pods}");
            }
            sleep(Duration::from_secs(1)).await;
        }
    }

    /// Asks the server for its providers, and the model through the server for an answer.
    fn ask(&self, url: &str) -> anyhow::Result<()> {
        self.say.step("Asking the server through its Service: GET /v1/providers");
        let listed: Value = serde_json::from_str(&self.curl(&[&format!("{url}/v1/providers")])?)?;
        let providers = listed["data"].as_array().context("the server lists providers")?;
        let mut found = providers.iter().filter(|provider| provider["api"] == "inference");
        let vllm = found.find(|provider| provider["provider_id"] == "vllm");
        let vllm = vllm.context("the server does not list the provider of the resource")?;
        self.say.detail(&format!("vllm {}", vllm["provider_type"].as_str().unwrap_or_default()));
        self.say.step(&format!("Asking {SERVED} through the server: POST /v1/chat/completions"));
        let messages = json!([{"role": "user", "content": "Who answers?"}]);
        let question = json!({"model": SERVED, "messages": messages}).to_string();
        let chat = format!("{url}/v1/chat/completions");
        let answer =
            self.curl(&["--header", "content-type: application/json", "--data", &question, &chat])?;
        let parsed: Value = serde_json::from_str(&answer).context("the server answers in JSON")?;
        let content = parsed["choices"][0]["message"]["content"].as_str();
        self.say.quote(content.with_context(|| format!("no answer: {answer}"))?);
        Ok(())
    }

    fn invite(&self, url: &str) {
        self.say.step("It stays up until Ctrl-C. To try, in another terminal:");
        self.say.command(&format!("export KUBECONFIG={}", self.node.kubeconfig().display()));
        self.say.command("llsd top -A                      # all servers, live");
        self.say.command("kubectl get llsd,deploy,pods -A");
        self.say.command(&format!(
            "kubectl edit llsd {NAME}       # add a model, and watch the server roll"
        ));
        self.say
            .command(&format!("make node-shell                # then: curl -s {url}/v1/models"));
    }

    fn curl(&self, args: &[&str]) -> anyhow::Result<String> {
        self.node.run("curl", &[&["--silent", "--show-error", "--max-time", "60"], args].concat())
    }

    async fn wait(&self, object: &str, condition: &str) -> anyhow::Result<()> {
        let wait = ["wait", object, &format!("--for={condition}"), "--timeout=5m"];
        self.kubectl(&wait).await.map(drop)
    }

    async fn apply(&self, objects: &str) -> anyhow::Result<()> {
        self.kubectl_with(&["apply", "--server-side", "-f", "-"], Some(objects)).await.map(drop)
    }

    async fn kubectl(&self, args: &[&str]) -> anyhow::Result<String> {
        self.kubectl_with(args, None).await
    }

    async fn kubectl_with(&self, args: &[&str], stdin: Option<&str>) -> anyhow::Result<String> {
        let done = self.node.kubectl(args, stdin).await?;
        ensure!(done.success(), "kubectl {}: {}", args.join(" "), done.stderr.trim());
        Ok(done.stdout)
    }

    /// What the command line prints, as a user of the node runs it.
    fn llsd(&self, args: &[&str]) -> anyhow::Result<String> {
        let own = std::env::current_exe()?;
        let folder = own.parent().and_then(Path::parent).context("this program is in a folder")?;
        let mut llsd = Command::new(folder.join("llsd"));
        let done = llsd.args(args).env("KUBECONFIG", self.node.kubeconfig()).output()?;
        ensure!(
            done.status.success(),
            "llsd {}: {}",
            args.join(" "),
            String::from_utf8_lossy(&done.stderr)
        );
        Ok(String::from_utf8(done.stdout)?)
    }
}

/// What the distribution's image says of itself.
fn labels() -> Map<String, Value> {
    let config = BASE64_STANDARD.encode(SMALL_BASE);
    let all = [
        ("io.llamastack.config.base64", config),
        ("org.opencontainers.image.version", Release::newest().version().to_owned()),
    ];
    all.into_iter().map(|(name, value)| (name.to_owned(), Value::from(value))).collect()
}

/// A model server that echoes, in the image of the server, which has Python.
fn model(image: &str) -> String {
    let labels = json!({"app": "vllm"});
    let container = json!({
        "name": "stub",
        "image": image,
        "command": ["python3", "/stub/model_stub.py", "8000", MODEL],
        "volumeMounts": [{"name": "stub", "mountPath": "/stub"}],
        "readinessProbe": {"httpGet": {"port": 8000, "path": "/health"}, "periodSeconds": 1},
    });
    let objects = json!([
        {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "model-stub"},
            "data": {"model_stub.py": MODEL_STUB},
        },
        {
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "vllm"},
            "spec": {"selector": labels, "ports": [{"port": 8000}]},
        },
        {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "vllm"},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {
                        "containers": [container],
                        "volumes": [{"name": "stub", "configMap": {"name": "model-stub"}}],
                    },
                },
            },
        },
    ]);
    json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string()
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status()?;
    ensure!(status.success(), "{}: {status}", command.get_program().display());
    Ok(())
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Some lines of a text from one on.
fn section(text: &str, from: &str, lines: usize) -> String {
    let chosen: Vec<&str> = text.lines().skip_while(|line| *line != from).take(lines).collect();
    format!("{}\n…", chosen.join("\n"))
}
