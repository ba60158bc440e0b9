//! An upgrade from an older build of the operator: its N servers are not restarted, each says what
//! waits, another leader changes nothing of that, and `approve --all` stops at the one that does not come
//! back. `make test-upgrade N=100` runs it; the arguments are the number and the older program.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use llsd_testbed::install::install;
use llsd_testbed::namespace::{DISTRIBUTION, Namespace, condition};
use llsd_testbed::operator::{Operator, executable};
use llsd_testkit::{ControlPlane, PodState};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_mins(10);
const AT_ONCE: &str = "2";

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let count = arguments.next().context("how many resources?")?;
    let count: usize = count.to_string_lossy().parse().context("the number of resources")?;
    let older: PathBuf = arguments.next().context("which older program?")?.into();
    let begun = Instant::now();
    let say = |what: &str| println!("{:6.1} s  {what}", begun.elapsed().as_secs_f64());

    let cluster = ControlPlane::builder().with_controller_manager().start().await?;
    let user = install(&cluster).await;
    let kubelet = cluster.kubelet(|_| PodState::Ready).await?;
    let namespace = Namespace { cluster: &cluster, name: cluster.namespace("upgrade").await? };
    prepare(&namespace).await;
    let mut operator = Operator::of_program(&older, &cluster, &user, &[]);
    for number in 0..count {
        namespace.distribution(&server(number), spec(number)).await;
    }
    until(&namespace, count, |resource| condition(resource, "Ready")["status"] == "True").await?;
    let before = pods(&namespace).await;
    ensure!(before.len() == count, "{} pods for {count} servers", before.len());
    say(&format!("{count} servers of the older build are Ready"));

    operator.kill();
    let kubeconfig = cluster.kubeconfig_for(&user, &[]);
    let mut replicas = [(); 2].map(|()| Operator::replica(&cluster, &kubeconfig, &[]));
    until(&namespace, count, waits).await?;
    ensure!(pods(&namespace).await == before, "a pod was restarted");
    say(&format!("0 pods restarted by this build, {count} times UpdatePending"));

    let first = leader(&replicas).await?;
    replicas[first].kill();
    let second = 1 - first;
    while replicas[second].figure("llsd_leader").await != Some(1.0) {
        ensure!(begun.elapsed() < PATIENCE, "nobody leads");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    namespace.quiet(&user).await;
    ensure!(pods(&namespace).await == before, "a pod was restarted with the leadership");
    until(&namespace, count, waits).await?;
    say("0 pods restarted by another leader");

    let broken = server(count / 2);
    let of_broken = broken.clone();
    kubelet.decide(move |pod| {
        let is_old = pod.metadata.uid.as_ref().is_some_and(|uid| before.contains(uid));
        let labels = pod.metadata.labels.as_ref();
        let instance = labels.and_then(|labels| labels.get("app.kubernetes.io/instance"));
        let is_broken = !is_old && instance == Some(&of_broken);
        if is_broken { PodState::NeverReady } else { PodState::Ready }
    });
    let approved = Command::new(executable())
        .args(["rollout", "approve", "--all", "-n", &namespace.name])
        .args(["--max-parallel", AT_ONCE, "--timeout", "60"])
        .env("KUBECONFIG", cluster.kubeconfig_path())
        .output()?;
    let said = String::from_utf8_lossy(&approved.stderr);
    ensure!(approved.status.code() == Some(1), "{said}");
    ensure!(said.contains(&format!("{}/{broken}", namespace.name)), "it is not named: {said}");
    let all = namespace.list(DISTRIBUTION).await;
    let left = all.iter().filter(|resource| waits(resource)).count();
    // Those that were under way beside it are finished, and none is begun.
    ensure!(left + count / 2 < count && left > 0, "{left} of {count} wait still");
    say(&format!("approve --all stops at {broken}: {left} of {count} were left as they were"));
    Ok(())
}

fn server(number: usize) -> String {
    format!("server-{number:03}")
}

/// Four sorts: bare, with a start program, with a key, and with a database and certificates.
fn spec(number: usize) -> Value {
    let key = json!({"name": "keys", "key": "token"});
    let mut spec = json!({"distribution": {"name": "starter"}});
    match number % 4 {
        0 => {}
        1 => spec["workload"] = json!({"workers": 2}),
        2 => {
            let vllm = json!({"provider": "vllm", "endpoint": "http://vllm:8000", "apiKey": key});
            spec["providers"] = json!({"inference": vllm});
        }
        _ => {
            let url = json!({"name": "keys", "key": "url"});
            spec["storage"] = json!({"sql": {"type": "postgres", "connectionString": url}});
            spec["networking"] = json!({"tls": {"caBundle": {"configMapName": "authorities"}}});
        }
    }
    spec
}

async fn prepare(namespace: &Namespace<'_>) {
    let url = "postgresql://llama:word@db:5432/llama";
    namespace.secret("keys", json!({"token": "value", "url": url})).await;
    let authority = llsd_testbed::authority::authority("own");
    namespace.config_map("authorities", json!({"ca-bundle.crt": authority})).await;
}

fn waits(resource: &Value) -> bool {
    condition(resource, "UpdatePending")["status"] == "True"
}

/// Waits until so many resources are as they should be.
async fn until(
    namespace: &Namespace<'_>,
    count: usize,
    holds: impl Fn(&Value) -> bool,
) -> anyhow::Result<()> {
    let begun = Instant::now();
    loop {
        let all = namespace.list(DISTRIBUTION).await;
        if all.iter().filter(|resource| holds(resource)).count() == count {
            return Ok(());
        }
        if begun.elapsed() > PATIENCE {
            let other = all.iter().find(|resource| !holds(resource));
            anyhow::bail!("not within {PATIENCE:?}: {other:#?}");
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// The uids of all pods: one that is restarted gets another.
async fn pods(namespace: &Namespace<'_>) -> Vec<String> {
    let pods = namespace.list("Pod").await;
    let uid = |pod: &Value| pod["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let mut uids: Vec<String> = pods.iter().map(uid).collect();
    uids.sort();
    uids
}

async fn leader(replicas: &[Operator; 2]) -> anyhow::Result<usize> {
    for (number, replica) in replicas.iter().enumerate() {
        if replica.figure("llsd_leader").await == Some(1.0) {
            return Ok(number);
        }
    }
    anyhow::bail!("nobody leads")
}
