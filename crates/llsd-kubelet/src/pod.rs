//! The life of one pod: network and volumes, init containers in order, the others beside each
//! other, and the end in the order that Kubernetes keeps.

use std::{fs, sync::Arc};

use futures::future::join_all;
use k8s_openapi::api::core::v1::{Container, Pod};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, Preconditions},
};
use tokio::{sync::watch, task::JoinHandle, time::sleep};

use llsd_testkit::node::FIELD_MANAGER;

use crate::{
    container::{Life, Restart},
    context::{KubeletContext, RETRY},
    prepared::{PreparedPod, prepare},
    record::Record,
    snapshot::is_sidecar,
    stop::{Stop, Stopping, stopped},
};

/// Runs a pod until it is deleted or the stand-in ends. Everything that it had is gone then, and
/// so is a deleted pod's object.
pub(crate) async fn run(
    kubelet: Arc<KubeletContext>,
    record: Arc<Record>,
    pod: Pod,
    mut stopping: Stopping,
) {
    let reporter = tokio::spawn(report(Arc::clone(&kubelet), Arc::clone(&record), pod.clone()));
    let folder = record.folder.clone();
    let prepared = tokio::select! {
        prepared = prepare(Arc::clone(&kubelet), Arc::clone(&record), pod.clone()) => Some(prepared),
        _ = stopped(&mut stopping) => None,
    };
    if let Some(running) = prepared {
        record.set_network(Some(Arc::clone(&running.sandbox.network)));
        let running = Arc::new(running);
        live(&running, stopping.clone()).await;
        record.set_network(None);
        if let Some(running) = Arc::into_inner(running) {
            running.sandbox.end().await;
        }
    }
    // A pod that has come to its end by itself stays until somebody deletes it.
    let stop = stopped(&mut stopping).await;
    reporter.abort();
    let _ = fs::remove_dir_all(&folder);
    if matches!(stop, Stop::Deleted(_)) {
        remove(&kubelet, &pod).await;
    }
}

/// Until all containers have ended, by themselves or because they were stopped.
async fn live(pod: &Arc<PreparedPod>, stopping: Stopping) {
    let spec = pod.pod.spec.clone().unwrap_or_default();
    let restart = match spec.restart_policy.as_deref() {
        Some("Never") => Restart::Never,
        Some("OnFailure") => Restart::OnFailure,
        _ => Restart::Always,
    };
    let init_containers = spec.init_containers.unwrap_or_default();
    let mut sidecars = Vec::new();
    let mut initialized = true;
    for (index, container) in init_containers.iter().enumerate() {
        initialized = if is_sidecar(container) {
            sidecars.push(Sidecar::start(pod, container, index));
            started(pod, index, stopping.clone()).await
        } else {
            let once = if restart == Restart::Never { restart } else { Restart::OnFailure };
            Life { pod, container, index }.live(once, stopping.clone()).await == Some(0)
        };
        if !initialized {
            break;
        }
    }
    if initialized {
        let lives = spec.containers.iter().enumerate().map(|(index, container)| {
            let index = init_containers.len() + index;
            let stopping = stopping.clone();
            async move { Life { pod, container, index }.live(restart, stopping).await }
        });
        join_all(lives).await;
    }
    let stop = stopping.borrow().unwrap_or(Stop::Deleted(pod.grace()));
    for sidecar in sidecars.into_iter().rev() {
        sidecar.end(stop).await;
    }
}

/// Whether the container has started, and not the pod's end come first.
async fn started(pod: &PreparedPod, index: usize, mut stopping: Stopping) -> bool {
    let mut snapshot = pod.record.snapshot.subscribe();
    tokio::select! {
        up = snapshot.wait_for(|snapshot| snapshot.containers[index].started) => up.is_ok(),
        _ = stopped(&mut stopping) => false,
    }
}

/// Runs beside the other containers, and ends after them.
struct Sidecar {
    stop: watch::Sender<Option<Stop>>,
    task: JoinHandle<()>,
}

impl Sidecar {
    fn start(pod: &Arc<PreparedPod>, container: &Container, index: usize) -> Self {
        let (stop, stopping) = watch::channel(None);
        let (pod, container) = (Arc::clone(pod), container.clone());
        let task = tokio::spawn(async move {
            let life = Life { pod: &pod, container: &container, index };
            life.live(Restart::Always, stopping).await;
        });
        Self { stop, task }
    }

    async fn end(self, stop: Stop) {
        self.stop.send_replace(Some(stop));
        let _ = self.task.await;
    }
}

/// Writes every change of the pod's snapshot into its status.
async fn report(kubelet: Arc<KubeletContext>, record: Arc<Record>, mut pod: Pod) {
    let pods: Api<Pod> =
        Api::namespaced(kubelet.client.clone(), &pod.namespace().unwrap_or_default());
    let name = pod.name_any();
    let manager =
        PatchParams { field_manager: Some(FIELD_MANAGER.into()), ..PatchParams::default() };
    let mut snapshot = record.snapshot.subscribe();
    loop {
        let mut status = snapshot.borrow_and_update().status(&pod);
        // A pod of the same name that came after this one must not get its status.
        status["metadata"] = serde_json::json!({ "uid": pod.uid() });
        match pods.patch_status(&name, &manager, &Patch::Strategic(status)).await {
            Ok(patched) => pod = patched,
            Err(kube::Error::Api(answer)) if answer.code == 404 || answer.code == 409 => {}
            Err(_) => {
                sleep(RETRY).await;
                continue;
            }
        }
        if snapshot.changed().await.is_err() {
            return;
        }
    }
}

async fn remove(kubelet: &KubeletContext, pod: &Pod) {
    let pods: Api<Pod> =
        Api::namespaced(kubelet.client.clone(), &pod.namespace().unwrap_or_default());
    let mut now = DeleteParams::default().grace_period(0);
    now.preconditions = Some(Preconditions { uid: pod.uid(), ..Preconditions::default() });
    // Gone already, or another pod of the same name.
    let settled =
        |error: &kube::Error| matches!(error, kube::Error::Api(answer) if answer.code < 500);
    while let Err(error) = pods.delete(&pod.name_any(), &now).await {
        if settled(&error) {
            return;
        }
        sleep(RETRY).await;
    }
}
