//! What the stand-in knows of a pod, for those who ask it: its snapshot, where it is reached, what
//! it printed. The record of a pod that is gone is kept for its logs.

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use k8s_openapi::{
    api::core::v1::{Pod, PodSpec, Service},
    apimachinery::pkg::util::intstr::IntOrString,
};
use kube::ResourceExt;
use tokio::sync::watch;

use crate::{network::Network, probe, snapshot::PodSnapshot};

#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) ip: String,
    pub(crate) snapshot: watch::Sender<PodSnapshot>,
    /// Everything of the pod on this machine but its logs and claims.
    pub(crate) folder: PathBuf,
    logs: PathBuf,
    labels: BTreeMap<String, String>,
    spec: PodSpec,
    network: Mutex<Option<Arc<Network>>>,
    /// Connections of its Services are made to it.
    routed: AtomicBool,
}

impl Record {
    pub(crate) fn new(pod: &Pod, ip: String, folder: PathBuf, logs: PathBuf) -> Self {
        Self {
            namespace: pod.namespace().unwrap_or_default(),
            name: pod.name_any(),
            snapshot: watch::Sender::new(PodSnapshot::new(pod, &ip)),
            ip,
            folder,
            logs,
            labels: pod.labels().clone(),
            spec: pod.spec.clone().unwrap_or_default(),
            network: Mutex::default(),
            routed: AtomicBool::new(false),
        }
    }

    /// The pod's network while it has one.
    pub(crate) fn network(&self) -> Option<Arc<Network>> {
        self.network.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_network(&self, network: Option<Arc<Network>>) {
        *self.network.lock().unwrap_or_else(PoisonError::into_inner) = network;
    }

    pub(crate) fn is_routed(&self) -> bool {
        self.routed.load(Ordering::SeqCst)
    }

    pub(crate) fn set_routed(&self, routed: bool) {
        self.routed.store(routed, Ordering::SeqCst);
    }

    pub(crate) fn log_file(&self, container: &str) -> PathBuf {
        self.logs.join(container)
    }

    pub(crate) fn log(&self, container: &str) -> String {
        let said = fs::read(self.log_file(container)).unwrap_or_default();
        String::from_utf8_lossy(&said).into_owned()
    }

    /// Every container's log under its name.
    pub(crate) fn all_logs(&self) -> String {
        let names = self.spec.init_containers.iter().flatten().chain(&self.spec.containers);
        let titled = |name: &str| format!("== {}/{name}\n{}\n", self.name, self.log(name));
        names.map(|container| titled(&container.name)).collect()
    }

    /// The port by which this pod serves the first port of a Service, when the Service selects it.
    pub(crate) fn serves(&self, namespace: &str, service: &Service) -> Option<u16> {
        let spec = service.spec.as_ref()?;
        let selector = spec.selector.as_ref().filter(|selector| !selector.is_empty())?;
        let selected = selector.iter().all(|(key, value)| self.labels.get(key) == Some(value));
        if self.namespace != namespace || !selected {
            return None;
        }
        let port = spec.ports.as_ref()?.first()?;
        let target = port.target_port.clone().unwrap_or(IntOrString::Int(port.port));
        self.spec.containers.iter().find_map(|container| probe::port(container, &target))
    }
}
