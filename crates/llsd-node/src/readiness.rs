//! Waiting until parts of a node answer. A program that ends instead is reported at once.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use k8s_openapi::api::core::v1::{Node as KubernetesNode, ServiceAccount};
use kube::{Api, Client};
use tokio::time::{sleep, timeout};

use crate::{programs::Programs, worker::Worker};

/// Ten times what an idle machine needs: a busy one is slow, not broken.
const DEADLINE: Duration = Duration::from_mins(3);
const PAUSE: Duration = Duration::from_millis(100);
/// An answer that takes longer is asked for again.
const ANSWER: Duration = Duration::from_secs(5);

pub(crate) async fn wait(
    what: &str,
    workers: &mut [Worker],
    answers: impl AsyncFn() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let started = Instant::now();
    loop {
        workers.iter_mut().try_for_each(Worker::check_alive)?;
        let answer = timeout(ANSWER, answers()).await.context("no answer");
        let Err(error) = answer.and_then(|answer| answer) else { return Ok(()) };
        if started.elapsed() > DEADLINE {
            bail!("{what}: not ready after {} s: {error:#}", DEADLINE.as_secs());
        }
        sleep(PAUSE).await;
    }
}

/// containerd takes a moment, after which the kubelet may start.
pub(crate) async fn containerd_answers(
    worker: &mut Worker,
    programs: &Programs,
) -> anyhow::Result<()> {
    let started = Instant::now();
    while let Err(error) = worker.containers_can_run(programs) {
        worker.check_alive()?;
        if started.elapsed() > DEADLINE {
            return Err(error.context("containerd does not answer"));
        }
        sleep(PAUSE).await;
    }
    Ok(())
}

/// The kubelet says that its Node takes pods.
pub(crate) async fn node_is_ready(client: &Client, name: &str) -> anyhow::Result<()> {
    let node = Api::<KubernetesNode>::all(client.clone()).get(name).await?;
    let conditions = node.status.and_then(|status| status.conditions).unwrap_or_default();
    let ready = conditions.iter().find(|condition| condition.type_ == "Ready");
    match ready {
        Some(condition) if condition.status == "True" => {}
        Some(condition) => bail!("{}", condition.message.clone().unwrap_or_default()),
        None => bail!("its kubelet has not reported yet"),
    }
    // A controller takes these away a moment later, and pods wait for it.
    let taints = node.spec.and_then(|spec| spec.taints).unwrap_or_default();
    if let Some(taint) = taints.first() {
        bail!("it has the taint {}", taint.key);
    }
    Ok(())
}

/// Pods are refused until a controller has made the default account of their namespace.
pub(crate) async fn pods_may_be_created(client: &Client) -> anyhow::Result<()> {
    Api::<ServiceAccount>::namespaced(client.clone(), "default").get("default").await?;
    Ok(())
}
