//! Stands in for scheduler and kubelet: one Node, pending pods bound to it, their status as a test
//! decides, and deletions finished. No container ever runs, except under [`RunningKubelet`].

mod fate;
mod running;
mod status;

use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock},
    thread::JoinHandle,
};

use anyhow::{Context, anyhow};
use futures::{StreamExt, pin_mut};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions},
    runtime::{WatchStreamExt, watcher},
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::control_plane::{ControlPlane, MASTERS};

pub use fate::PodFate;
pub use running::{ImageStandIn, RunningKubelet};

const NODE: &str = "stand-in";
const FIELD_MANAGER: &str = "kubelet-stand-in";

type Decide = dyn Fn(&Pod) -> PodFate + Send + Sync;

/// What the thread of the stand-in and its handle share.
struct Shared {
    decide: RwLock<Arc<Decide>>,
    decided_anew: Notify,
    stop: Notify,
}

/// Works until it is dropped.
pub struct Kubelet {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl ControlPlane {
    /// Starts a stand-in that gives every pod the fate that `decide` names. It answers when the
    /// Node exists.
    pub async fn kubelet(
        &self,
        decide: impl Fn(&Pod) -> PodFate + Send + Sync + 'static,
    ) -> anyhow::Result<Kubelet> {
        let config = self.config_for("system:kubelet-stand-in", &[MASTERS]);
        let shared = Arc::new(Shared {
            decide: RwLock::new(Arc::new(decide)),
            decided_anew: Notify::new(),
            stop: Notify::new(),
        });
        let (ready, is_ready) = tokio::sync::oneshot::channel();
        let theirs = Arc::clone(&shared);
        // A thread and a runtime of its own: it goes on while a test blocks, and a control plane
        // that several tests share is not bound to the runtime of the first.
        let thread =
            std::thread::Builder::new().name("kubelet stand-in".into()).spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                match runtime {
                    Ok(runtime) => runtime.block_on(work(config, theirs, ready)),
                    Err(error) => drop(ready.send(Err(error.into()))),
                }
            })?;
        let kubelet = Kubelet { shared, thread: Some(thread) };
        is_ready.await.context("the stand-in ended")??;
        Ok(kubelet)
    }
}

impl Kubelet {
    /// Changes the fate of pods, also of those that have met theirs.
    pub fn decide(&self, decide: impl Fn(&Pod) -> PodFate + Send + Sync + 'static) {
        *self.shared.decide.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(decide);
        self.shared.decided_anew.notify_one();
    }

    /// The name of its Node.
    pub fn node_name(&self) -> &'static str {
        NODE
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.shared.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic over there was printed there, and a second one while dropping would abort.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Kubelet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kubelet").finish_non_exhaustive()
    }
}

type Ready = tokio::sync::oneshot::Sender<anyhow::Result<()>>;

async fn work(config: kube::Config, shared: Arc<Shared>, ready: Ready) {
    let client = match register(config).await {
        Ok(client) => client,
        Err(error) => return drop(ready.send(Err(error))),
    };
    if ready.send(Ok(())).is_err() {
        return;
    }
    tokio::select! {
        // Wherever the work is: an API server that a test has frozen must not keep the test from
        // ending.
        () = shared.stop.notified() => {}
        () = attend_all(&client, &shared) => {}
    }
}

async fn attend_all(client: &Client, shared: &Shared) {
    let all: Api<Pod> = Api::all(client.clone());
    let events = watcher(all.clone(), watcher::Config::default()).default_backoff();
    pin_mut!(events);
    loop {
        let pods = tokio::select! {
            () = shared.decided_anew.notified() => {
                all.list(&ListParams::default()).await.map(|list| list.items).unwrap_or_default()
            }
            event = events.next() => match event {
                Some(Ok(watcher::Event::Apply(pod) | watcher::Event::InitApply(pod))) => vec![pod],
                Some(_) => continue,
                None => return,
            },
        };
        for pod in &pods {
            // An error is left to the next event: the pod changed meanwhile, or is gone.
            let _ = attend(client, shared, pod).await;
        }
    }
}

async fn register(config: kube::Config) -> anyhow::Result<Client> {
    let client = Client::try_from(config)?;
    let nodes: Api<Node> = Api::all(client.clone());
    let manager = PatchParams::apply(FIELD_MANAGER).force();
    nodes.patch(NODE, &manager, &Patch::Apply(status::node(NODE))).await?;
    nodes.patch_status(NODE, &manager, &Patch::Apply(status::node_status(NODE))).await?;
    Ok(client)
}

/// One step for one pod; the change that it makes brings the event for the next.
async fn attend(client: &Client, shared: &Shared, pod: &Pod) -> anyhow::Result<()> {
    let namespace = pod.namespace().ok_or_else(|| anyhow!("a pod has a namespace"))?;
    let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
    let name = pod.name_any();
    if pod.metadata.deletion_timestamp.is_some() {
        let mut now = DeleteParams::default().grace_period(0);
        now.preconditions = Some(Preconditions { uid: pod.uid(), ..Preconditions::default() });
        pods.delete(&name, &now).await?;
        return Ok(());
    }
    let spec = pod.spec.as_ref();
    match spec.and_then(|spec| spec.node_name.as_deref()) {
        None if status::may_be_scheduled(pod) => bind(client, pod).await?,
        Some(NODE) => {
            let decide = {
                let decide = shared.decide.read().unwrap_or_else(PoisonError::into_inner);
                Arc::clone(&decide)
            };
            if let Some(patch) = status::patch_towards(&decide(pod), pod) {
                let manager = PatchParams {
                    field_manager: Some(FIELD_MANAGER.into()),
                    ..PatchParams::default()
                };
                pods.patch_status(&name, &manager, &Patch::Strategic(patch)).await?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// What a scheduler does.
async fn bind(client: &Client, pod: &Pod) -> anyhow::Result<()> {
    let (name, namespace) = (pod.name_any(), pod.namespace().unwrap_or_default());
    let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
    let binding = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": { "name": name, "namespace": namespace },
        "target": { "apiVersion": "v1", "kind": "Node", "name": NODE },
    });
    let parameters = PostParams::default();
    let _: Value = pods.create_subresource("binding", &name, &parameters, &binding).await?;
    Ok(())
}
