//! What runs in the first machine beside its kubelet: the control plane, DNS, registries, and the ways
//! in from outside.

use std::{fs, path::Path};

use llsd_testkit::Pki;

use crate::{
    addresses::{MachineNumber, REGISTRY},
    configuration::{ControlPlaneFlags, Registries, corefile},
    kubeconfig,
    options::NodeOptions,
    programs::Programs,
    running_program::ProgramSettings,
    state::StateFolder,
    worker::Worker,
};

/// Everything that it is made of.
pub(crate) struct ControlPlaneParts<'a> {
    pub(crate) state: &'a StateFolder,
    pub(crate) programs: &'a Programs,
    pub(crate) pki: &'a Pki,
    pub(crate) options: &'a NodeOptions,
    pub(crate) logs: &'a Path,
    /// The API server's, inside and outside.
    pub(crate) port: u16,
}

/// The sockets through which the API server and the open registry are reached from outside.
pub(crate) const API_SOCKET: &str = "api.sock";
pub(crate) const REGISTRY_SOCKET: &str = "registry.sock";

impl ControlPlaneParts<'_> {
    /// etcd, the API server and the registries: what everything else asks.
    pub(crate) fn start_servers(&self, worker: &mut Worker) -> anyhow::Result<()> {
        let flags = self.flags();
        worker.run(self.program("etcd", &self.programs.etcd, flags.etcd()))?;
        let mut api_server = flags.api_server()?;
        api_server.extend_from_slice(&self.options.api_server);
        worker.run(self.program("kube-apiserver", &self.programs.api_server, api_server))?;
        let registries = Registries::write(self.state.path(), self.pki, &self.programs.htpasswd)?;
        for (name, file) in
            [("registry", registries.open), ("private-registry", registries.private)]
        {
            let args = vec!["serve".to_owned(), file.display().to_string()];
            worker.run(self.program(name, &self.programs.registry, args))?;
        }
        let api_server = format!("127.0.0.1:{}", self.port);
        worker.run(self.way_in("way-to-api-server", API_SOCKET, &api_server))?;
        worker.run(self.way_in("way-to-registry", REGISTRY_SOCKET, REGISTRY))
    }

    /// The controllers, the scheduler and DNS, which ask the API server.
    pub(crate) fn start_controllers(&self, worker: &mut Worker) -> anyhow::Result<()> {
        let user = self.user("controller-manager", "system:kube-controller-manager", &[])?;
        let mut args = self.flags().controller_manager(&user);
        args.extend_from_slice(&self.options.controller_manager);
        let program = &self.programs.controller_manager;
        worker.run(self.program("kube-controller-manager", program, args))?;
        let user = self.user("scheduler", "system:kube-scheduler", &[])?;
        let args = ControlPlaneFlags::scheduler(&user);
        worker.run(self.program("kube-scheduler", &self.programs.scheduler, args))?;
        let user = self.user("coredns", "coredns", &["system:masters"])?;
        let file = self.state.file("Corefile");
        fs::write(&file, corefile(&user))?;
        let args = vec!["-conf".to_owned(), file.display().to_string()];
        worker.run(self.program("coredns", &self.programs.coredns, args))
    }

    /// The API server's address for other machines.
    pub(crate) fn server(&self) -> String {
        format!("https://{}:{}", MachineNumber::FIRST.address(), self.port)
    }

    fn flags(&self) -> ControlPlaneFlags<'_> {
        ControlPlaneFlags { folder: self.state.path(), pki: self.pki, port: self.port }
    }

    fn user(&self, name: &str, user: &str, groups: &[&str]) -> anyhow::Result<std::path::PathBuf> {
        let file = self.state.file(&format!("{name}.kubeconfig"));
        kubeconfig::write(&file, &self.server(), self.pki, user, groups)?;
        Ok(file)
    }

    fn way_in(&self, name: &'static str, socket: &str, to: &str) -> ProgramSettings {
        let listen = format!("UNIX-LISTEN:{},fork", self.state.file(socket).display());
        let args = vec!["-t".to_owned(), "60".to_owned(), listen, format!("TCP:{to},nodelay")];
        self.program(name, &self.programs.socat, args)
    }

    fn program(&self, name: &'static str, program: &Path, args: Vec<String>) -> ProgramSettings {
        let (program, logs) = (program.to_owned(), self.logs.to_owned());
        ProgramSettings { name, program, args, path: self.programs.path(), logs }
    }
}
