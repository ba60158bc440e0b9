//! A pod that has its network and its volumes, and how it gets them.

use std::{path::PathBuf, sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use tokio::time::sleep;

use crate::{
    context::{KubeletContext, RETRY},
    objects::Objects,
    record::Record,
    refusal::Refusal,
    sandbox::Sandbox,
    view::PodFiles,
    volumes::{Folders, Volumes},
};

const GRACE: i64 = 30;

/// A pod that has its network and its volumes.
pub(crate) struct PreparedPod {
    pub(crate) kubelet: Arc<KubeletContext>,
    pub(crate) record: Arc<Record>,
    pub(crate) pod: Pod,
    pub(crate) namespace: String,
    pub(crate) ip: String,
    pub(crate) sandbox: Sandbox,
    folder: PathBuf,
    volumes: Folders,
}

/// Tries until the network and the volumes are there; the status shows what is missing.
pub(crate) async fn prepare(
    kubelet: Arc<KubeletContext>,
    record: Arc<Record>,
    pod: Pod,
) -> PreparedPod {
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
            Err(error) => show_waiting(&record, &Refusal::preparing(format!("{error:#}"))),
        }
        sleep(RETRY).await;
    };
    let spec = pod.spec.clone().unwrap_or_default();
    let context = spec.security_context.as_ref();
    let group = context.and_then(|context| u32::try_from(context.fs_group?).ok());
    let group = group.filter(|_| kubelet.namespaces.as_root());
    let volumes = loop {
        let made = async {
            let objects = Objects::fetch(&kubelet.client, &namespace, &spec).await;
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
            Err(refusal) => show_waiting(&record, &refusal),
        }
        sleep(RETRY).await;
    };
    show_waiting(&record, &Refusal::preparing(""));
    PreparedPod { kubelet, record, pod, namespace, ip, sandbox, folder, volumes }
}

/// Shows in every container what the pod waits for.
fn show_waiting(record: &Record, why: &Refusal) {
    record.snapshot.send_modify(|snapshot| snapshot.wait(why));
}

impl PreparedPod {
    /// The files that the containers share.
    pub(crate) fn files(&self) -> PodFiles<'_> {
        PodFiles {
            folder: &self.folder,
            hosts: &self.sandbox.hosts,
            volumes: &self.volumes,
            as_root: self.kubelet.namespaces.as_root(),
        }
    }

    /// How long a container has to end by itself.
    pub(crate) fn grace(&self) -> Duration {
        let given = self.pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds);
        Duration::from_secs(u64::try_from(given.unwrap_or(GRACE)).unwrap_or_default())
    }
}
