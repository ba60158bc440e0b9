//! How a control plane comes up: the programs are found, certificates are made, ports are chosen,
//! and nothing is handed out before it answers.

use std::{
    collections::BTreeSet,
    iter,
    net::{Ipv4Addr, TcpListener},
    ops::Range,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use anyhow::Context;

use crate::{
    access::{Access, MASTERS},
    binaries::{self, Binary, Kubernetes},
    control_plane::ControlPlane,
    flags,
    pki::Pki,
    process::{Component, Watchdog},
    readiness,
    skip::{Unobtainable, started_or_skipped},
};

/// A port is free when it is chosen and may be taken a moment later, when the program asks for it.
const ATTEMPTS: usize = 5;

/// What a control plane consists of.
#[derive(Debug, Clone, Default)]
pub struct Builder {
    kubernetes: Option<Kubernetes>,
    with_controllers: bool,
    api_server: Vec<String>,
    controller_manager: Vec<String>,
}

impl ControlPlane {
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// etcd and kube-apiserver, of the minor that `LLSD_TEST_KUBERNETES` names.
    pub async fn start() -> anyhow::Result<Self> {
        Self::builder().start().await
    }

    /// As [`start`](Self::start), but `None`, said loudly, where the programs cannot be had.
    pub async fn start_or_skip() -> Option<Self> {
        Self::builder().start_or_skip().await
    }
}

struct Programs {
    etcd: PathBuf,
    api_server: PathBuf,
    controller_manager: Option<PathBuf>,
}

impl Builder {
    /// Another minor than the one that `LLSD_TEST_KUBERNETES` names.
    #[must_use]
    pub fn kubernetes(mut self, kubernetes: Kubernetes) -> Self {
        self.kubernetes = Some(kubernetes);
        self
    }

    /// With kube-controller-manager: Deployments make pods, owned objects are collected,
    /// namespaces finish, service accounts exist.
    #[must_use]
    pub fn with_controller_manager(mut self) -> Self {
        self.with_controllers = true;
        self
    }

    /// One more flag for kube-apiserver, for example `--feature-gates=ImageVolume=true`.
    #[must_use]
    pub fn api_server_flag(mut self, flag: impl Into<String>) -> Self {
        self.api_server.push(flag.into());
        self
    }

    /// One more flag for kube-controller-manager.
    #[must_use]
    pub fn controller_manager_flag(mut self, flag: impl Into<String>) -> Self {
        self.controller_manager.push(flag.into());
        self
    }

    /// As [`start`](Self::start), but `None`, said loudly, where the programs cannot be had. With
    /// `CI=true` that is a failure, and a control plane that does not come up always is.
    pub async fn start_or_skip(self) -> Option<ControlPlane> {
        let started = self.start().await.context("the control plane did not start");
        started_or_skipped(started)
    }

    pub async fn start(self) -> anyhow::Result<ControlPlane> {
        crate::install_crypto_provider();
        let kubernetes = match self.kubernetes {
            Some(kubernetes) => kubernetes,
            None => Kubernetes::from_env()?,
        };
        let with_controllers = self.with_controllers;
        let programs =
            tokio::task::spawn_blocking(move || Programs::locate(kubernetes, with_controllers))
                .await??;
        let mut attempt = 1;
        loop {
            match self.attempt(kubernetes, &programs).await {
                Err(Failed { lost_a_port: true, .. }) if attempt < ATTEMPTS => attempt += 1,
                Err(failed) => return Err(failed.error),
                Ok(control_plane) => return Ok(control_plane),
            }
        }
    }

    async fn attempt(
        &self,
        kubernetes: Kubernetes,
        programs: &Programs,
    ) -> Result<ControlPlane, Failed> {
        let mut control_plane = self.launch(kubernetes, programs)?;
        let ControlPlane { access, etcd, api_server, .. } = &mut control_plane;
        if let Err(error) = readiness::api_server(access, &mut [etcd, api_server]).await {
            let lost_a_port = etcd.lost_its_port() || api_server.lost_its_port();
            return Err(Failed { error, lost_a_port });
        }
        if let Some(program) = &programs.controller_manager {
            let mut controllers = self.launch_controllers(program, &control_plane)?;
            if let Err(error) =
                readiness::controllers(&control_plane.access, &mut controllers).await
            {
                let lost_a_port = controllers.lost_its_port();
                return Err(Failed { error, lost_a_port });
            }
            control_plane.controller_manager = Some(controllers);
        }
        Ok(control_plane)
    }

    /// etcd and kube-apiserver start side by side; the second waits for the first by itself.
    fn launch(&self, kubernetes: Kubernetes, programs: &Programs) -> anyhow::Result<ControlPlane> {
        let temporary = tempfile::Builder::new().prefix("llsd-control-plane-").tempdir()?;
        let watchdog = Watchdog::guard(temporary.path())?;
        let dir = temporary.path();
        let [port, etcd_port] = free_ports()?;
        let access = Access::new(Pki::create(dir.join("pki"))?, dir.to_owned(), port);
        let policy = serde_json::to_vec_pretty(&flags::audit_policy())?;
        std::fs::write(flags::audit_policy_file(dir), policy)?;

        let etcd_flags = flags::etcd(dir, etcd_port, &access.pki, &access.pki.server("etcd")?);
        let etcd = Component::spawn("etcd", &programs.etcd, &etcd_flags, dir, &watchdog)?;
        let api_server_flags = flags::ApiServer {
            dir,
            port,
            etcd_port,
            pki: &access.pki,
            serving: &access.pki.server("kube-apiserver")?,
            etcd_client: &access.pki.client("kube-apiserver-etcd-client", &[])?,
            with_controllers: self.with_controllers,
            extra: &self.api_server,
        }
        .flags();
        let program = &programs.api_server;
        let api_server =
            Component::spawn("kube-apiserver", program, &api_server_flags, dir, &watchdog)?;
        Ok(ControlPlane {
            controller_manager: None,
            api_server,
            etcd,
            watchdog,
            api_server_program: program.clone(),
            api_server_flags,
            kubeconfig: access.kubeconfig(flags::ADMIN, &[MASTERS])?,
            kubernetes,
            access,
            dir: temporary,
        })
    }

    fn launch_controllers(
        &self,
        program: &std::path::Path,
        to: &ControlPlane,
    ) -> anyhow::Result<Component> {
        let [port] = free_ports()?;
        let kubeconfig = to.access.kubeconfig("system:kube-controller-manager", &[])?;
        let pki = &to.access.pki;
        let flags = flags::controller_manager(&kubeconfig, port, pki, &self.controller_manager);
        Component::spawn("kube-controller-manager", program, &flags, to.dir(), &to.watchdog)
    }
}

impl Programs {
    fn locate(kubernetes: Kubernetes, with_controllers: bool) -> Result<Self, Unobtainable> {
        Ok(Self {
            etcd: binaries::locate(Binary::Etcd, kubernetes)?,
            api_server: binaries::locate(Binary::ApiServer, kubernetes)?,
            controller_manager: with_controllers
                .then(|| binaries::locate(Binary::ControllerManager, kubernetes))
                .transpose()?,
        })
    }
}

struct Failed {
    error: anyhow::Error,
    lost_a_port: bool,
}

impl From<anyhow::Error> for Failed {
    fn from(error: anyhow::Error) -> Self {
        Self { error, lost_a_port: false }
    }
}

/// A port of loopback that nobody uses now.
pub fn free_port() -> anyhow::Result<u16> {
    free_ports().map(|[port]| port)
}

/// Ports from which the kernel gives none to outgoing connections: a server that takes a minute to start would
/// find such a one taken.
const PORTS: Range<u16> = 12_000..32_000;

/// Different ports, none of which was given to anybody in this process before.
pub(crate) fn free_ports<const N: usize>() -> anyhow::Result<[u16; N]> {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut ports = [0; N];
    for port in &mut ports {
        let mut tried = iter::repeat_with(|| fastrand::u16(PORTS)).take(10_000);
        let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
        let found = tried.find(|port| !given.contains(port) && is_free(port));
        *port = found.context("no free port on loopback")?;
        given.insert(*port);
    }
    Ok(ports)
}
