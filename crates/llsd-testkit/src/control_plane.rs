//! A running control plane: etcd, kube-apiserver and, where asked for, kube-controller-manager, in
//! a temporary folder and on free loopback ports. Dropping it leaves no process and no file.

use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client, ResourceExt, api::PostParams};
use tempfile::TempDir;

use crate::{
    access::{Access, Kubectl, MASTERS},
    audit::Audit,
    binaries::{self, Binary, Kubernetes},
    flags::ADMIN,
    process::{Component, Watchdog},
    readiness,
    skip::Unobtainable,
};

/// Logs of what runs as long as the control plane.
const OWN_LOGS: [&str; 4] = ["audit", "etcd", "kube-apiserver", "kube-controller-manager"];

/// A real control plane of its own.
///
/// It holds nothing that belongs to an asynchronous runtime, so that
/// [tests may share it](crate::SharedControlPlane).
// Fields drop in this order: first the programs, then what watches them, then their folder.
#[derive(Debug)]
pub struct ControlPlane {
    pub(crate) controller_manager: Option<Component>,
    pub(crate) api_server: Component,
    pub(crate) etcd: Component,
    pub(crate) watchdog: Watchdog,
    pub(crate) api_server_program: PathBuf,
    pub(crate) api_server_flags: Vec<String>,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) kubernetes: Kubernetes,
    pub(crate) access: Access,
    pub(crate) dir: TempDir,
}

impl ControlPlane {
    /// A client that may do everything, as the user `admin`.
    pub fn client(&self) -> Client {
        self.client_for(ADMIN, &[MASTERS])
    }

    /// A client with a certificate of the user's own. Two groups at most. Must be called inside a
    /// tokio runtime, which the client then belongs to; there, all clients of a user are one.
    pub fn client_for(&self, user: &str, groups: &[&str]) -> Client {
        self.access.client(user, groups).expect("a client certificate can be issued")
    }

    /// The configuration behind [`client_for`](Self::client_for), for clients with own timeouts.
    pub fn config_for(&self, user: &str, groups: &[&str]) -> kube::Config {
        self.access.config(user, groups).expect("a client certificate can be issued")
    }

    /// A kubeconfig of the user `admin`, who may do everything.
    pub fn kubeconfig_path(&self) -> &Path {
        &self.kubeconfig
    }

    /// A new kubeconfig with a certificate of its own. Two groups at most.
    pub fn kubeconfig_for(&self, user: &str, groups: &[&str]) -> PathBuf {
        self.access.kubeconfig(user, groups).expect("a kubeconfig can be written")
    }

    /// The address of the API server.
    pub fn url(&self) -> String {
        self.access.url()
    }

    /// The certificate authority of the API server, in PEM.
    pub fn certificate_authority(&self) -> PathBuf {
        self.access.pki.authority_file()
    }

    /// The temporary folder. Tests may put files of their own here.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn kubernetes(&self) -> Kubernetes {
        self.kubernetes
    }

    /// A new namespace whose name begins with `prefix`, in which pods can be created.
    pub async fn namespace(&self, prefix: &str) -> anyhow::Result<String> {
        let namespaces: Api<Namespace> = Api::all(self.client());
        let mut namespace = Namespace::default();
        namespace.metadata.generate_name = Some(format!("{prefix}-"));
        let namespace = namespaces.create(&PostParams::default(), &namespace).await?;
        let name = namespace.name_any();
        if self.controller_manager.is_some() {
            readiness::default_account(&self.client(), &name).await?;
        }
        Ok(name)
    }

    /// The real kubectl of this Kubernetes, fetched or built at the first call.
    pub async fn kubectl_path(&self) -> Result<PathBuf, Unobtainable> {
        let kubernetes = self.kubernetes;
        tokio::task::spawn_blocking(move || binaries::locate(Binary::Kubectl, kubernetes))
            .await
            .expect("looking for kubectl does not panic")
    }

    /// Runs the real kubectl as `admin`.
    pub async fn kubectl(&self, args: &[&str], stdin: Option<&str>) -> anyhow::Result<Kubectl> {
        self.kubectl_as(&self.kubeconfig, args, stdin).await
    }

    /// Runs the real kubectl with a kubeconfig from [`kubeconfig_for`](Self::kubeconfig_for).
    pub async fn kubectl_as(
        &self,
        kubeconfig: &Path,
        args: &[&str],
        stdin: Option<&str>,
    ) -> anyhow::Result<Kubectl> {
        let program = self.kubectl_path().await?;
        Kubectl::run(&program, kubeconfig, self.dir(), args, stdin).await
    }

    /// What was asked of the API server, and by whom.
    pub fn audit(&self) -> Audit<'_> {
        Audit::through(&self.access)
    }

    /// For the next test: forgets who asked what until now, and what programs of a test said.
    pub async fn forget(&self) -> anyhow::Result<()> {
        self.audit().forget().await?;
        for entry in std::fs::read_dir(self.dir())? {
            let file = entry?.path();
            let is_log = file.extension().is_some_and(|extension| extension == "log");
            let name = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
            if is_log && !OWN_LOGS.contains(&name) {
                std::fs::remove_file(file)?;
            }
        }
        Ok(())
    }

    /// Freezes the API server: connections stay open and nothing is answered.
    pub fn pause_api_server(&self) -> anyhow::Result<()> {
        self.api_server.signal("STOP")
    }

    /// Lets a frozen API server go on.
    pub fn resume_api_server(&self) -> anyhow::Result<()> {
        self.api_server.signal("CONT")
    }

    /// Kills the API server and starts it again at the same address, with the same objects.
    pub async fn restart_api_server(&mut self) -> anyhow::Result<()> {
        self.stop_api_server();
        self.api_server = Component::spawn(
            "kube-apiserver",
            &self.api_server_program,
            &self.api_server_flags,
            self.dir.path(),
            &self.watchdog,
        )?;
        readiness::api_server(&self.access, &mut [&mut self.etcd, &mut self.api_server]).await
    }

    /// Kills the API server: connections are refused until
    /// [`restart_api_server`](Self::restart_api_server).
    pub fn stop_api_server(&mut self) {
        self.api_server.kill();
        self.access.forget_clients();
    }

    /// All processes of this control plane, the watchdog included.
    pub fn process_ids(&self) -> Vec<u32> {
        let mut ids = vec![self.watchdog.id(), self.etcd.id(), self.api_server.id()];
        ids.extend(self.controller_manager.as_ref().map(Component::id));
        ids
    }
}
