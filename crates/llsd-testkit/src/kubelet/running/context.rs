//! What everything in the stand-in shares: client, images, folders, and the records of its pods.

use std::{
    collections::BTreeMap,
    fs, io,
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use k8s_openapi::api::core::v1::Pod;
use kube::{Client, Config};
use tokio::runtime::Handle;

use super::{
    super::status, claims::Claims, front, image::ImageStandIn, namespaces::Namespaces,
    network::Outlets, probe, process, record::Record, sandbox,
};

pub(super) type Images = Box<dyn Fn(&str) -> Option<ImageStandIn> + Send + Sync>;

/// What a stand-in is started with.
pub(super) struct Start {
    pub(super) config: Config,
    pub(super) namespaces: Namespaces,
    pub(super) images: Images,
    pub(super) folder: PathBuf,
    /// The process group that is killed when this process ends.
    pub(super) group: i32,
}

pub(super) struct KubeletContext {
    pub(super) client: Client,
    pub(super) http: reqwest::Client,
    pub(super) runtime: Handle,
    pub(super) namespaces: Namespaces,
    pub(super) images: Images,
    pub(super) group: i32,
    pub(super) claims: Claims,
    pub(super) outlets: Outlets,
    pub(super) sandbox_script: PathBuf,
    pub(super) container_script: PathBuf,
    folder: PathBuf,
    records: Mutex<Vec<Arc<Record>>>,
    services: Mutex<BTreeMap<(String, String), SocketAddr>>,
}

impl KubeletContext {
    /// Inside the stand-in's own runtime.
    pub(super) fn new(start: Start, client: Client) -> anyhow::Result<Self> {
        let Start { namespaces, images, folder, group, config: _ } = start;
        // Short names: the path of a socket has 107 bytes at most.
        for name in ["claims", "out", "p", "logs"] {
            fs::create_dir(folder.join(name))?;
        }
        let sandbox_script = folder.join("sandbox.py");
        fs::write(&sandbox_script, sandbox::SCRIPT)?;
        let container_script = folder.join("container.py");
        fs::write(&container_script, process::SCRIPT)?;
        Ok(Self {
            client,
            http: probe::client()?,
            runtime: Handle::current(),
            namespaces,
            images,
            group,
            claims: Claims(folder.join("claims")),
            outlets: Outlets::new(folder.join("out")),
            sandbox_script,
            container_script,
            folder,
            records: Mutex::default(),
            services: Mutex::default(),
        })
    }

    /// A new record, with folders for the pod.
    pub(super) fn record(&self, pod: &Pod) -> io::Result<Arc<Record>> {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        let number = records.len().to_string();
        let folder = self.folder.join("p").join(&number);
        let logs = self.folder.join("logs").join(&number);
        fs::create_dir(&folder)?;
        fs::create_dir(&logs)?;
        let record = Arc::new(Record::new(pod, status::next_ip(), folder, logs));
        records.push(Arc::clone(&record));
        Ok(record)
    }

    /// The records of all pods, from the oldest to the newest.
    pub(super) fn records(&self) -> Vec<Arc<Record>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The records of the pods that have or had a name.
    pub(super) fn records_of(&self, namespace: &str, pod: &str) -> Vec<Arc<Record>> {
        let mut records = self.records();
        records.retain(|record| record.namespace == namespace && record.name == pod);
        records
    }

    pub(super) fn logs(&self, namespace: &str) -> String {
        let records = self.records();
        let here = records.iter().filter(|record| record.namespace == namespace);
        here.map(|record| record.all_logs()).collect()
    }

    /// The address of a Service, opened at the first call.
    pub(super) fn service(
        self: &Arc<Self>,
        namespace: &str,
        service: &str,
    ) -> io::Result<SocketAddr> {
        let mut services = self.services.lock().unwrap_or_else(PoisonError::into_inner);
        let name = (namespace.to_owned(), service.to_owned());
        if let Some(address) = services.get(&name) {
            return Ok(*address);
        }
        let address = front::open(self, namespace, service)?;
        services.insert(name, address);
        Ok(address)
    }
}
