//! The handle of a running stand-in: starts it, and answers where pods are reached and what they
//! printed.

use std::{fmt, io, net::SocketAddr, sync::Arc, thread::JoinHandle};

use anyhow::Context;
use tempfile::TempDir;
use tokio::sync::{Notify, oneshot};

use llsd_testkit::{
    ControlPlane, MASTERS, Watchdog,
    node::{NODE, NodeRoom},
    started_or_skipped,
};

use crate::{
    context::{KubeletContext, Start},
    image::ImageStandIn,
    namespaces::Namespaces,
    services::Services,
    watch,
};

/// Runs pods until it is dropped. Then every process of theirs is killed, and the pods' objects
/// are left as they are.
pub struct RunningKubelet {
    context: Arc<KubeletContext>,
    services: Services,
    proxy: SocketAddr,
    stop: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
    watchdog: Watchdog,
    // The last field: dropped when nothing writes there any more.
    _folder: TempDir,
}

impl RunningKubelet {
    /// Starts a stand-in that runs every pod, with what `images` has for the reference of a
    /// container's image. It returns when the Node exists.
    pub async fn start(
        cluster: &ControlPlane,
        images: impl Fn(&str) -> Option<ImageStandIn> + Send + Sync + 'static,
    ) -> anyhow::Result<Self> {
        Self::start_with_room(cluster, NodeRoom::default(), images).await
    }

    /// The same with a Node of this size: pods whose requests do not fit wait.
    pub async fn start_with_room(
        cluster: &ControlPlane,
        room: NodeRoom,
        images: impl Fn(&str) -> Option<ImageStandIn> + Send + Sync + 'static,
    ) -> anyhow::Result<Self> {
        let namespaces = Namespaces::find()?;
        let folder = tempfile::Builder::new().prefix("llsd-kubelet-").tempdir()?;
        let watchdog = Watchdog::guard(folder.path())?;
        let config = cluster.config_for("system:kubelet-stand-in", &[MASTERS]);
        let start = Start {
            config,
            room,
            namespaces,
            images: Box::new(images),
            folder: folder.path().to_owned(),
            group: i32::try_from(watchdog.id())?,
        };
        let stop = Arc::new(Notify::new());
        let (ready, is_ready) = oneshot::channel();
        let theirs = Arc::clone(&stop);
        // A thread and a runtime of its own: it goes on while a test blocks, and a control plane
        // that several tests share is not bound to the runtime of the first.
        let thread =
            std::thread::Builder::new().name("running kubelet".into()).spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                match runtime {
                    Ok(runtime) => runtime.block_on(watch::work(start, theirs, ready)),
                    Err(error) => drop(ready.send(Err(error.into()))),
                }
            })?;
        let (context, proxy) = is_ready.await.context("the stand-in ended")??;
        let services = Services::default();
        let thread = Some(thread);
        Ok(Self { context, services, proxy, stop, thread, watchdog, _folder: folder })
    }

    /// As [`start`](Self::start), but `None`, said loudly, where this machine
    /// allows no namespaces.
    pub async fn start_or_skip(
        cluster: &ControlPlane,
        images: impl Fn(&str) -> Option<ImageStandIn> + Send + Sync + 'static,
    ) -> Option<Self> {
        started_or_skipped(Self::start(cluster, images).await)
    }

    /// The name of its Node.
    pub fn node_name(&self) -> &'static str {
        NODE
    }

    /// Lets all pods, also those that run already, reach `target` of this machine at
    /// `host:port`. The host is an address of loopback, `localhost`, or a name, such as that of a
    /// Service which a resource speaks of.
    pub fn let_pods_reach(&self, host: &str, port: u16, target: SocketAddr) -> io::Result<()> {
        self.context.outlets.open(&self.context.runtime, host, port, target)
    }

    /// Where this machine reaches a port of a running pod.
    pub fn address(&self, namespace: &str, pod: &str, port: u16) -> Option<SocketAddr> {
        let records = self.context.records_of(namespace, pod).into_iter();
        records.filter_map(|record| record.network()).last()?.address(port).ok()
    }

    /// Where this machine reaches the first port of a Service, on whichever pod is ready when a
    /// connection is made. The same address every time.
    pub fn service(&self, namespace: &str, service: &str) -> io::Result<SocketAddr> {
        self.services.address(&self.context, namespace, service)
    }

    /// `http://127.0.0.1:<port>`, where `/<namespace>/<service>/<path>` is passed on to a pod that
    /// is ready.
    pub fn proxy_url(&self) -> String {
        format!("http://{}", self.proxy)
    }

    /// What the operator's `--server-url-template` has to say to reach the servers that run here.
    pub fn server_url_template(&self) -> String {
        format!("{}/{{namespace}}/{{name}}-service", self.proxy_url())
    }

    /// All that a container has printed, over all its runs; also of a pod that is gone.
    pub fn log(&self, namespace: &str, pod: &str, container: &str) -> String {
        let records = self.context.records_of(namespace, pod).into_iter();
        records.map(|record| record.log(container)).collect()
    }

    /// All that containers of a namespace have printed, for a test that fails.
    pub fn logs(&self, namespace: &str) -> String {
        self.context.logs(namespace)
    }

    /// The process group of all that it starts, the watchdog included. A container's program may
    /// have left it.
    pub fn process_group(&self) -> u32 {
        self.watchdog.id()
    }
}

impl Drop for RunningKubelet {
    fn drop(&mut self) {
        self.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic over there was printed there, and a second one while dropping would abort.
            let _ = thread.join();
        }
        self.watchdog.clear_away();
    }
}

impl fmt::Debug for RunningKubelet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningKubelet").field("proxy", &self.proxy).finish_non_exhaustive()
    }
}
