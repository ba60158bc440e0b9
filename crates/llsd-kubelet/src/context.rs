//! What everything in the stand-in shares: client, images, folders, and the records of its pods.

use std::{
    fs, io,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use k8s_openapi::api::core::v1::Pod;
use kube::{Client, Config};
use tokio::runtime::Handle;

use llsd_testkit::node::{NodeRoom, next_ip};

use crate::{
    claims::Claims, image::ImageStandIn, namespaces::Namespaces, network::Outlets, probe, process,
    record::Record, sandbox,
};

/// How long what is missing is waited for before it is asked for again.
pub(crate) const RETRY: Duration = Duration::from_secs(1);

pub(crate) type Images = Box<dyn Fn(&str) -> Option<ImageStandIn> + Send + Sync>;

/// What a stand-in is started with.
pub(crate) struct Start {
    pub(crate) config: Config,
    pub(crate) room: NodeRoom,
    pub(crate) namespaces: Namespaces,
    pub(crate) images: Images,
    pub(crate) folder: PathBuf,
    /// The process group that is killed when this process ends.
    pub(crate) group: i32,
}

pub(crate) struct KubeletContext {
    pub(crate) client: Client,
    pub(crate) http: reqwest::Client,
    pub(crate) runtime: Handle,
    pub(crate) namespaces: Namespaces,
    pub(crate) images: Images,
    pub(crate) group: i32,
    pub(crate) claims: Claims,
    pub(crate) outlets: Outlets,
    pub(crate) sandbox_script: PathBuf,
    pub(crate) container_script: PathBuf,
    folder: PathBuf,
    records: Mutex<Vec<Arc<Record>>>,
}

impl KubeletContext {
    /// Inside the stand-in's own runtime.
    pub(crate) fn new(start: Start, client: Client) -> anyhow::Result<Self> {
        let Start { namespaces, images, folder, group, config: _, room: _ } = start;
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
        })
    }

    /// A new record, with folders for the pod.
    pub(crate) fn record(&self, pod: &Pod) -> io::Result<Arc<Record>> {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        let number = records.len().to_string();
        let folder = self.folder.join("p").join(&number);
        let logs = self.folder.join("logs").join(&number);
        fs::create_dir(&folder)?;
        fs::create_dir(&logs)?;
        let record = Arc::new(Record::new(pod, next_ip(), folder, logs));
        records.push(Arc::clone(&record));
        Ok(record)
    }

    /// The records of all pods, from the oldest to the newest.
    pub(crate) fn records(&self) -> Vec<Arc<Record>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The records of the pods that have or had a name.
    pub(crate) fn records_of(&self, namespace: &str, pod: &str) -> Vec<Arc<Record>> {
        let mut records = self.records();
        records.retain(|record| record.namespace == namespace && record.name == pod);
        records
    }

    pub(crate) fn logs(&self, namespace: &str) -> String {
        let records = self.records();
        let here = records.iter().filter(|record| record.namespace == namespace);
        here.map(|record| record.all_logs()).collect()
    }
}
