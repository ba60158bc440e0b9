//! Waiting until programs answer. A program that ends instead is reported at once, with the end of
//! its log.

use std::time::Duration;

use anyhow::{Context, bail};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::{Api, Client};
use tokio::time::{Instant, sleep, timeout};

use crate::{
    access::{Access, MASTERS},
    process::Component,
};

/// Twenty times what an idle machine needs: a busy one is slow, not broken.
const DEADLINE: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(50);
/// An answer that takes longer is asked for again.
const ANSWER: Duration = Duration::from_secs(5);

/// Starts a server on a free port, and on another one where a program took that port meanwhile.
pub(crate) async fn on_a_free_port<S>(
    launch: impl AsyncFn() -> anyhow::Result<S>,
    ready: impl AsyncFn(&mut S) -> anyhow::Result<()>,
    component: impl Fn(&S) -> &Component,
) -> anyhow::Result<S> {
    const ATTEMPTS: usize = 3;
    let mut attempt = 1;
    loop {
        let mut server = launch().await?;
        let Err(error) = ready(&mut server).await else { return Ok(server) };
        if !component(&server).lost_its_port() || attempt == ATTEMPTS {
            return Err(error);
        }
        attempt += 1;
    }
}

/// Ready by its own word, and with the `default` namespace that it creates a moment later.
pub(crate) async fn api_server(
    access: &Access,
    components: &mut [&mut Component],
) -> anyhow::Result<()> {
    let client = client(access)?;
    let answers = async || -> anyhow::Result<()> {
        let request = http::Request::get("/readyz").body(Vec::new())?;
        client.request_text(request).await?;
        Api::<Namespace>::all(client.clone()).get("default").await?;
        Ok(())
    };
    wait("kube-apiserver", components, answers).await
}

/// Running, and far enough that pods can be created: they need the default service account.
pub(crate) async fn controllers(access: &Access, component: &mut Component) -> anyhow::Result<()> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client(access)?, "default");
    let answers = async || -> anyhow::Result<()> {
        accounts.get("default").await?;
        Ok(())
    };
    wait("kube-controller-manager", &mut [component], answers).await
}

/// Pods of a namespace are refused until a controller has made its default account.
pub(crate) async fn default_account(client: &Client, namespace: &str) -> anyhow::Result<()> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let answers = async || -> anyhow::Result<()> {
        accounts.get("default").await?;
        Ok(())
    };
    wait("the default service account", &mut [], answers).await
}

fn client(access: &Access) -> anyhow::Result<Client> {
    access.client("system:readiness", &[MASTERS])
}

pub(crate) async fn wait(
    what: &str,
    components: &mut [&mut Component],
    answers: impl AsyncFn() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let started = Instant::now();
    loop {
        for component in components.iter_mut() {
            component.check_alive()?;
        }
        let answer = timeout(ANSWER, answers()).await.context("no answer");
        let Err(error) = answer.and_then(|answer| answer) else {
            return Ok(());
        };
        if started.elapsed() > DEADLINE {
            let logs: Vec<_> = components.iter().map(|c| c.end_of_log()).collect();
            bail!(
                "{what} is not ready after {} s: {error:#}; {}",
                DEADLINE.as_secs(),
                logs.join("\n")
            );
        }
        sleep(PAUSE).await;
    }
}
