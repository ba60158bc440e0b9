//! What a pod's containers share: a network of their own, and `/etc/hosts`. The process that holds
//! the network is `sandbox.py`.

use std::{
    fmt::Write as _,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, bail};
use k8s_openapi::api::core::v1::{Pod, PodSpec};
use kube::ResourceExt;
use llsd_testkit::last_lines;
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, Command},
    runtime::Handle,
    sync::watch,
    task::JoinHandle,
    time::timeout,
};

use crate::{
    namespaces::Namespaces,
    network::{Network, Outlet, Outlets},
};

pub(crate) const SCRIPT: &str = include_str!("sandbox.py");

/// A busy machine is slow, not broken.
const START: Duration = Duration::from_mins(1);

/// Ends, and with it the pod's network, when it is dropped.
#[derive(Debug)]
pub(crate) struct Sandbox {
    child: Child,
    outlets: JoinHandle<()>,
    pub(crate) id: u32,
    pub(crate) hosts: PathBuf,
    pub(crate) network: Arc<Network>,
}

impl Sandbox {
    /// Starts in the process group `group`, with its files in `folder`.
    pub(crate) async fn start(
        namespaces: &Namespaces,
        script: &Path,
        folder: &Path,
        group: i32,
        (pod, ip): (&Pod, &str),
        outlets: &Outlets,
    ) -> anyhow::Result<Self> {
        let (socket, said) = (folder.join("in"), folder.join("sandbox.log"));
        let mut child = Command::from(namespaces.in_new_network(script))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&said)?)
            .process_group(group)
            .kill_on_drop(true)
            .spawn()?;
        let id = child.id().context("the sandbox has ended")?;
        let mut commands = child.stdin.take().context("standard input is a pipe")?;
        let output = child.stdout.take().context("standard output is a pipe")?;
        let start = json!({ "address": ip, "socket": socket, "sysctls": sysctls(pod) });
        commands.write_all(format!("{start}\n").as_bytes()).await?;
        let mut lines = BufReader::new(output).lines();
        if timeout(START, lines.next_line()).await.context("no answer")??.is_none() {
            bail!("the pod's network does not start: {}", last_lines(&said, 3));
        }
        let network = Arc::new(Network::new(socket, Handle::current()));
        let hosts = Hosts::for_pod(pod, ip, folder.join("hosts"));
        let (path, watched) = (hosts.file.clone(), outlets.watch());
        hosts.write(&watched.borrow())?;
        let outlets = tokio::spawn(follow(watched, commands, hosts));
        Ok(Self { child, outlets, id, hosts: path, network })
    }

    /// Ends it, and waits until it is gone.
    pub(crate) async fn end(mut self) {
        let _ = self.child.kill().await;
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.outlets.abort();
    }
}

/// Opens new outlets in the pod. Holds the sandbox's standard input, whose end is its end.
async fn follow(mut outlets: watch::Receiver<Vec<Outlet>>, mut commands: ChildStdin, hosts: Hosts) {
    let mut opened = 0;
    loop {
        let all = outlets.borrow_and_update().clone();
        // Nothing but a full disk keeps the file from being written, and then much else fails too.
        let _ = hosts.write(&all);
        for outlet in &all[opened..] {
            let command = json!({
                "address": outlet.address, "port": outlet.port, "path": outlet.socket,
            });
            if commands.write_all(format!("{command}\n").as_bytes()).await.is_err() {
                return;
            }
        }
        opened = all.len();
        if outlets.changed().await.is_err() {
            return;
        }
    }
}

fn sysctls(pod: &Pod) -> serde_json::Map<String, serde_json::Value> {
    let context = pod.spec.as_ref().and_then(|spec| spec.security_context.as_ref());
    let sysctls = context.iter().flat_map(|context| context.sysctls.iter().flatten());
    sysctls.map(|sysctl| (sysctl.name.clone(), sysctl.value.clone().into())).collect()
}

/// The file that the kubelet keeps for a pod. It is written in place, since containers have it
/// mounted.
struct Hosts {
    file: PathBuf,
    own: String,
}

impl Hosts {
    fn for_pod(pod: &Pod, ip: &str, file: PathBuf) -> Self {
        let mut own = format!("127.0.0.1 localhost\n::1 localhost\n{ip} {}\n", pod.name_any());
        let aliases = |spec: &PodSpec| spec.host_aliases.clone();
        for alias in pod.spec.as_ref().and_then(aliases).into_iter().flatten() {
            let names = alias.hostnames.unwrap_or_default().join(" ");
            let _ = writeln!(own, "{} {names}", alias.ip);
        }
        Self { file, own }
    }

    fn write(&self, outlets: &[Outlet]) -> std::io::Result<()> {
        let mut text = self.own.clone();
        for outlet in outlets {
            if let Some(name) = &outlet.name {
                let _ = writeln!(text, "{} {name}", outlet.address);
            }
        }
        fs::write(&self.file, text)
    }
}
