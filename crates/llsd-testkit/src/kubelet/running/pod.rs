//! The life of one pod: network and volumes, init containers in order, the others beside each
//! other, and the end in the order that Kubernetes keeps.

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use futures::future::join_all;
use k8s_openapi::api::core::v1::{Container, Pod};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, Preconditions},
};
use tokio::{sync::watch, task::JoinHandle, time::sleep};

use super::{
    super::FIELD_MANAGER,
    container::{Life, RETRY, Restart, Stop, Stopping, stopped},
    context::KubeletContext,
    look::{State, is_sidecar},
    objects::Objects,
    record::Record,
    refusal::Refusal,
    sandbox::Sandbox,
    view::Place,
    volumes::{Folders, Volumes},
};

const GRACE: i64 = 30;

/// A pod that has its network and its volumes.
pub(super) struct RunningPod {
    pub(super) kubelet: Arc<KubeletContext>,
    pub(super) record: Arc<Record>,
    pub(super) pod: Pod,
    pub(super) namespace: String,
    pub(super) ip: String,
    pub(super) sandbox: Sandbox,
    folder: PathBuf,
    volumes: Folders,
}

/// Runs a pod until it is deleted or the stand-in ends. Everything that it had is gone then, and
/// so is a deleted pod's object.
pub(super) async fn run(
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

async fn prepare(kubelet: Arc<KubeletContext>, record: Arc<Record>, pod: Pod) -> RunningPod {
    let namespace = pod.namespace().unwrap_or_default();
    let (ip, folder) = (record.ip.clone(), record.folder.clone());
    let sandbox = loop {
        let started = Sandbox::start(
            &kubelet.namespaces,
            &kubelet.sandbox_script,
            &folder,
            kubelet.group,
            (&pod, &ip),
            &kubelet.outlets,
        );
        match started.await {
            Ok(sandbox) => break sandbox,
            Err(error) => show(&record, &Refusal::preparing(format!("{error:#}"))),
        }
        sleep(RETRY).await;
    };
    let spec = pod.spec.clone().unwrap_or_default();
    let context = spec.security_context.as_ref();
    let group = context.and_then(|context| u32::try_from(context.fs_group?).ok());
    let group = group.filter(|_| kubelet.namespaces.as_root());
    let volumes = loop {
        let made = async {
            let objects = Objects::read(&kubelet.client, &namespace, &spec).await;
            let objects = objects.map_err(|error| Refusal::preparing(error.to_string()))?;
            let volumes = Volumes {
                client: &kubelet.client,
                claims: &kubelet.claims,
                objects: &objects,
                pod: &pod,
                ip: &ip,
                folder: &folder.join("volumes"),
                group,
            };
            volumes.make().await
        };
        match made.await {
            Ok(volumes) => break volumes,
            Err(refusal) => show(&record, &refusal),
        }
        sleep(RETRY).await;
    };
    show(&record, &Refusal::preparing(""));
    RunningPod { kubelet, record, pod, namespace, ip, sandbox, folder, volumes }
}

/// Shows in every container what the pod waits for.
fn show(record: &Record, why: &Refusal) {
    record.look.send_modify(|look| {
        for container in &mut look.containers {
            container.state = State::Waiting(why.clone());
        }
    });
}

impl RunningPod {
    /// What the containers share.
    pub(super) fn place(&self) -> Place<'_> {
        Place {
            folder: &self.folder,
            hosts: &self.sandbox.hosts,
            volumes: &self.volumes,
            as_root: self.kubelet.namespaces.as_root(),
        }
    }

    /// How long a container has to end by itself.
    pub(super) fn grace(&self) -> Duration {
        let given = self.pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds);
        Duration::from_secs(u64::try_from(given.unwrap_or(GRACE)).unwrap_or_default())
    }
}

/// Until all containers have ended, by themselves or because they were stopped.
async fn live(pod: &Arc<RunningPod>, stopping: Stopping) {
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
async fn started(pod: &RunningPod, index: usize, mut stopping: Stopping) -> bool {
    let mut look = pod.record.look.subscribe();
    tokio::select! {
        up = look.wait_for(|look| look.containers[index].started) => up.is_ok(),
        _ = stopped(&mut stopping) => false,
    }
}

/// Runs beside the other containers, and ends after them.
struct Sidecar {
    stop: watch::Sender<Option<Stop>>,
    task: JoinHandle<()>,
}

impl Sidecar {
    fn start(pod: &Arc<RunningPod>, container: &Container, index: usize) -> Self {
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

/// Writes every change of the pod's look into its status.
async fn report(kubelet: Arc<KubeletContext>, record: Arc<Record>, mut pod: Pod) {
    let pods: Api<Pod> =
        Api::namespaced(kubelet.client.clone(), &pod.namespace().unwrap_or_default());
    let name = pod.name_any();
    let manager =
        PatchParams { field_manager: Some(FIELD_MANAGER.into()), ..PatchParams::default() };
    let mut look = record.look.subscribe();
    loop {
        let mut status = look.borrow_and_update().status(&pod);
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
        if look.changed().await.is_err() {
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
