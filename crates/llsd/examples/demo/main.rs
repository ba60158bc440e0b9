//! `make demo`: the whole product on one machine, without a cluster. A real control plane, the operator
//! under its real roles, the simple sample, and the real llama-stack server as the pod's process,
//! with a stub in the place of the model.

mod servers;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, bail};
use llsd_install::{cluster_wide, names};
use llsd_testkit::{ControlPlane, Narrator, Program, llsd_program, run_demo};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use servers::Servers;

const SAMPLE: &str = "deploy/samples/v1alpha2-simple.yaml";
const NAME: &str = "simple";
const NAMESPACE: &str = "default";
const OTHER_VERSION: &str = "llamastackdistributions.v1alpha1.llamastack.io";
/// A server that starts for the first time reads a lot of Python.
const PATIENCE: Duration = Duration::from_mins(5);

fn main() -> ExitCode {
    run_demo(demonstrate)
}

async fn demonstrate(check: bool) -> anyhow::Result<()> {
    let say = Narrator::new();
    say.step(
        "Starting a Kubernetes control plane on loopback (built or fetched once, then cached)",
    );
    let cluster = ControlPlane::builder().with_controller_manager().start().await?;
    say.detail(&format!("Kubernetes {} at {}", cluster.kubernetes(), cluster.url()));

    say.step("Installing the operator's files: resource, admission rules, roles");
    install(&cluster, &say).await?;

    say.step("Preparing the real llama-stack server (installed once, then cached)");
    let servers = Servers::prepare(&cluster, &say).await?;

    say.step("Starting the operator, as its own ServiceAccount");
    let mut operator = operator(&cluster, &servers)?;

    say.step(&format!("Applying {SAMPLE}"));
    let sample = std::fs::read_to_string(repository(SAMPLE))?;
    say.quote(&sample);
    let apply = ["apply", "--server-side", "-n", NAMESPACE, "-f", "-"];
    kubectl(&cluster, &apply, Some(&sample)).await?;

    say.step("Waiting until it is Ready");
    let ready = until_ready(&cluster, &mut operator, &servers, &say).await?;

    say.step("The generated configuration, as the server reads it");
    let config = ready["status"]["configGeneration"]["configMapName"].as_str().unwrap_or_default();
    let jsonpath = r"jsonpath={.data.config\.yaml}";
    let config = ["get", "configmap", config, "-n", NAMESPACE, "-o", jsonpath];
    let config = kubectl(&cluster, &config, None).await?;
    say.quote_section(&config, "providers:", 24);

    say.step("The same resource in the other version, through the operator's webhook");
    let other = ["get", OTHER_VERSION, NAME, "-n", NAMESPACE, "-o", "jsonpath={.spec}"];
    say.quote(&kubectl(&cluster, &other, None).await?);

    servers.show(&say, NAMESPACE, NAME).await?;
    say.detail(
        "`make demo-node` does the same with the operator's image on a real kubelet and containerd",
    );
    if check {
        say.step("Everything works");
        return Ok(());
    }
    invite(&cluster, &servers, &say).await?;
    tokio::signal::ctrl_c().await.context("cannot wait for Ctrl-C")
}

async fn install(cluster: &ControlPlane, say: &Narrator) -> anyhow::Result<()> {
    for file in cluster_wide() {
        if file.name.ends_with("manager.yaml") || file.name.ends_with("kustomization.yaml") {
            continue;
        }
        kubectl(cluster, &["apply", "--server-side", "-f", "-"], Some(&file.text())).await?;
        say.detail(file.name);
    }
    Ok(())
}

fn operator(cluster: &ControlPlane, servers: &Servers) -> anyhow::Result<Program> {
    let user = names::user(names::NAMESPACE);
    // Nobody else takes it in the moment until the operator does.
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let mut command = Command::new(llsd_program()?);
    command
        .args(["run", "--operator-namespace", names::NAMESPACE])
        .args(["--metrics-bind-address", "127.0.0.1:0"])
        .args(["--health-probe-bind-address", "127.0.0.1:0"])
        .arg(format!("--webhook-bind-address=127.0.0.1:{port}"))
        .arg(format!("--webhook-url=https://127.0.0.1:{port}"))
        .args(servers.url_template().iter().flat_map(|url| ["--server-url-template", url.as_str()]))
        .env("KUBECONFIG", cluster.kubeconfig_for(&user, &[]));
    cluster.run_program("operator", &mut command)
}

/// Tells each new phase and each condition on the way.
async fn until_ready(
    cluster: &ControlPlane,
    operator: &mut Program,
    servers: &Servers,
    say: &Narrator,
) -> anyhow::Result<Value> {
    let begun = Instant::now();
    loop {
        if let Some(ended) = operator.ended()? {
            bail!("the operator ended with {ended}:\n{}", operator.log());
        }
        let get = ["get", "llsd", NAME, "-n", NAMESPACE, "-o", "json"];
        let resource: Value = serde_json::from_str(&kubectl(cluster, &get, None).await?)?;
        if say.phase(&resource) {
            return Ok(resource);
        }
        if begun.elapsed() > PATIENCE {
            bail!("not Ready within {PATIENCE:?}:\n{}", servers.log(NAMESPACE));
        }
        sleep(Duration::from_millis(300)).await;
    }
}

async fn invite(cluster: &ControlPlane, servers: &Servers, say: &Narrator) -> anyhow::Result<()> {
    say.step("It stays up until Ctrl-C. To try, in another terminal:");
    let kubectl = cluster.kubectl_path().await?;
    say.command(&format!("export KUBECONFIG={}", cluster.kubeconfig_path().display()));
    say.command(&format!("alias kubectl={}", kubectl.display()));
    say.command(&format!("kubectl get llsd,deploy,svc,cm -n {NAMESPACE}"));
    say.command(&format!("kubectl describe llsd {NAME}"));
    say.command(&format!("kubectl get {OTHER_VERSION} {NAME} -o yaml"));
    say.command(&format!("kubectl edit llsd {NAME}      # add a model, and watch the server roll"));
    if let Some(url) = servers.url(NAMESPACE, NAME) {
        say.command(&format!("curl -s {url}/v1/providers"));
        say.command(&format!("curl -s {url}/v1/models"));
    }
    say.detail(&format!("logs: {}", cluster.dir().join("operator.log").display()));
    Ok(())
}

async fn kubectl(
    cluster: &ControlPlane,
    args: &[&str],
    stdin: Option<&str>,
) -> anyhow::Result<String> {
    let run = cluster.kubectl(args, stdin).await?;
    if !run.success() {
        bail!("kubectl {}: {}", args.join(" "), run.stderr.trim());
    }
    Ok(run.stdout)
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}
