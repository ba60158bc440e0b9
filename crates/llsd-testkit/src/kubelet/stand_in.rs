//! Stands in for scheduler and kubelet: one Node, pending pods bound to it, their status as a test
//! decides, and deletions finished. No container ever runs, except under the crate `llsd-kubelet`.

use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock},
    thread::JoinHandle,
};

use anyhow::{Context, anyhow};
use futures::{StreamExt, pin_mut};
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, Preconditions},
    runtime::{WatchStreamExt, watcher},
};
use tokio::sync::Notify;

use super::{state::PodState, status};
use crate::{
    access::MASTERS,
    control_plane::ControlPlane,
    node::{FIELD_MANAGER, NODE, NodeRoom, bind, may_be_scheduled, register},
};

type Decide = dyn Fn(&Pod) -> PodState + Send + Sync;

/// What the thread of the stand-in and its handle share.
struct SharedDecision {
    decide: RwLock<Arc<Decide>>,
    decision_changed: Notify,
    stop: Notify,
}

/// Works until it is dropped.
pub struct Kubelet {
    shared: Arc<SharedDecision>,
    thread: Option<JoinHandle<()>>,
}

impl ControlPlane {
    /// Starts a stand-in that gives every pod the state that `decide` names. It returns when the
    /// Node exists.
    pub async fn kubelet(
        &self,
        decide: impl Fn(&Pod) -> PodState + Send + Sync + 'static,
    ) -> anyhow::Result<Kubelet> {
        let config = self.config_for("system:kubelet-stand-in", &[MASTERS]);
        let shared = Arc::new(SharedDecision {
            decide: RwLock::new(Arc::new(decide)),
            decision_changed: Notify::new(),
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
    /// Changes the states of pods, also of those that are in theirs.
    pub fn decide(&self, decide: impl Fn(&Pod) -> PodState + Send + Sync + 'static) {
        *self.shared.decide.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(decide);
        self.shared.decision_changed.notify_one();
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

async fn work(config: kube::Config, shared: Arc<SharedDecision>, ready: Ready) {
    let client = match register(config, NodeRoom::default()).await {
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
        () = follow_pods(&client, &shared) => {}
    }
}

async fn follow_pods(client: &Client, shared: &SharedDecision) {
    let all: Api<Pod> = Api::all(client.clone());
    let events = watcher(all.clone(), watcher::Config::default()).default_backoff();
    pin_mut!(events);
    loop {
        let pods = tokio::select! {
            () = shared.decision_changed.notified() => {
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
            let _ = step(client, shared, pod).await;
        }
    }
}

/// One step for one pod; the change that it makes brings the event for the next.
async fn step(client: &Client, shared: &SharedDecision, pod: &Pod) -> anyhow::Result<()> {
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
        None if may_be_scheduled(pod) => bind(client, pod).await?,
        Some(NODE) => {
            let decide = {
                let decide = shared.decide.read().unwrap_or_else(PoisonError::into_inner);
                Arc::clone(&decide)
            };
            if let Some(patch) = status::patch_towards(&decide(pod).of_pod(pod), pod) {
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
