//! Stands in for scheduler and kubelet, and really runs the pods: every container is a process of
//! this machine with its own file system, network and environment, as its pod describes them.
//!
//! Each pod has a network of its own with nothing but loopback, so that two pods can listen on the
//! same port and none is seen from outside. Each container has a file system of its own: the
//! programs of this machine, what stands for its image, and its volumes. Nothing is left on this
//! machine, however the test ends. Root can do all of it; other users where user namespaces are
//! allowed, with one user id for everything on the host. A control plane has one stand-in at a
//! time.
//!
//! Not stood in for: limits on memory and CPU, DNS, Services between pods, volumes that change
//! while they are mounted, mount points below `/usr` that are not there, gRPC probes, hooks.

mod attend;
mod claims;
mod container;
mod context;
mod environment;
mod front;
mod image;
mod look;
mod namespaces;
mod network;
mod objects;
mod pod;
mod probe;
mod process;
mod record;
mod refusal;
mod sandbox;
mod view;
mod volumes;

use std::{fmt, io, net::SocketAddr, sync::Arc, thread::JoinHandle};

use anyhow::Context;
use tempfile::TempDir;
use tokio::sync::{Notify, oneshot};

use self::{context::KubeletContext, namespaces::Namespaces};
use super::NODE;
use crate::{
    control_plane::{ControlPlane, MASTERS},
    process::Watchdog,
    skip,
};

pub use image::ImageStandIn;

/// Runs pods until it is dropped. Then every process of theirs is killed, and the pods' objects
/// are left as they are.
pub struct RunningKubelet {
    context: Arc<KubeletContext>,
    front: SocketAddr,
    stop: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
    watchdog: Watchdog,
    // The last field: dropped when nothing writes there any more.
    _folder: TempDir,
}

impl ControlPlane {
    /// Starts a stand-in that runs every pod, with what `images` has for the reference of a
    /// container's image. It answers when the Node exists.
    pub async fn running_kubelet(
        &self,
        images: impl Fn(&str) -> Option<ImageStandIn> + Send + Sync + 'static,
    ) -> anyhow::Result<RunningKubelet> {
        let namespaces = Namespaces::find()?;
        let folder = tempfile::Builder::new().prefix("llsd-kubelet-").tempdir()?;
        let watchdog = Watchdog::guard(folder.path())?;
        let config = self.config_for("system:kubelet-stand-in", &[MASTERS]);
        let start = context::Start {
            config,
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
                    Ok(runtime) => runtime.block_on(attend::work(start, theirs, ready)),
                    Err(error) => drop(ready.send(Err(error.into()))),
                }
            })?;
        let (context, front) = is_ready.await.context("the stand-in ended")??;
        Ok(RunningKubelet { context, front, stop, thread: Some(thread), watchdog, _folder: folder })
    }

    /// As [`running_kubelet`](Self::running_kubelet), but `None`, said loudly, where this machine
    /// allows no namespaces.
    pub async fn running_kubelet_or_skip(
        &self,
        images: impl Fn(&str) -> Option<ImageStandIn> + Send + Sync + 'static,
    ) -> Option<RunningKubelet> {
        skip::started_or_skipped(self.running_kubelet(images).await)
    }
}

impl RunningKubelet {
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
        self.context.service(namespace, service)
    }

    /// `http://127.0.0.1:<port>`, where `/<namespace>/<service>/<path>` is passed on to a pod that
    /// is ready.
    pub fn front(&self) -> String {
        format!("http://{}", self.front)
    }

    /// What the operator's `--server-url-template` has to say to reach the servers that run here.
    pub fn server_url_template(&self) -> String {
        format!("{}/{{namespace}}/{{name}}-service", self.front())
    }

    /// All that a container has said, over all its runs; also of a pod that is gone.
    pub fn log(&self, namespace: &str, pod: &str, container: &str) -> String {
        let records = self.context.records_of(namespace, pod).into_iter();
        records.map(|record| record.log(container)).collect()
    }

    /// All that containers of a namespace have said, for a test that fails.
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
        f.debug_struct("RunningKubelet").field("front", &self.front).finish_non_exhaustive()
    }
}
