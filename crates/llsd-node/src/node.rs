//! A running node, and what can be done with it. Dropping it leaves no process, file, mount, cgroup or
//! network device.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, ensure};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use llsd_image::assembly::Assembled;
use llsd_registry::{
    Client as RegistryClient, Config as RegistryConfig, Reference,
    mirrors::{HostPattern, Registries},
};
use llsd_testkit::{Kubectl, Pki};

use crate::{
    addresses::{MachineNumber, REGISTRY},
    found::{MachineRecord, NodeRecord},
    options::NodeOptions,
    programs::Programs,
    relay::Relay,
    state::StateFolder,
    worker::{Part, Worker},
};

/// A real cluster of one or more machines.
// The ways in drop first, then the machines, the first of which has everything cleared away.
#[derive(Debug)]
pub struct Node {
    pub(crate) relays: Vec<Relay>,
    pub(crate) workers: Vec<Worker>,
    pub(crate) programs: Programs,
    pub(crate) pki: Pki,
    pub(crate) options: NodeOptions,
    pub(crate) logs: PathBuf,
    pub(crate) port: u16,
    pub(crate) registry_port: u16,
    pub(crate) state: StateFolder,
}

impl Node {
    /// A kubeconfig that may do everything. It works inside the node and outside.
    pub fn kubeconfig(&self) -> PathBuf {
        self.state.kubeconfig()
    }

    /// A client that may do everything.
    pub async fn client(&self) -> anyhow::Result<Client> {
        let kubeconfig = Kubeconfig::read_from(self.kubeconfig())?;
        let options = KubeConfigOptions::default();
        Ok(Client::try_from(Config::from_custom_kubeconfig(kubeconfig, &options).await?)?)
    }

    /// Runs the real kubectl, from outside of the node.
    pub async fn kubectl(&self, args: &[&str], stdin: Option<&str>) -> anyhow::Result<Kubectl> {
        let (program, home) = (&self.programs.kubectl, self.state.path());
        Kubectl::run(program, &self.kubeconfig(), home, args, stdin).await
    }

    /// Where everything of this node lies while it runs.
    pub fn folder(&self) -> &Path {
        self.state.path()
    }

    /// The logs of all programs, `<machine>-<program>.log`.
    pub fn logs(&self) -> &Path {
        &self.logs
    }

    /// The authority that signed what the servers of the node show, the private registry included.
    pub fn certificate_authority(&self) -> PathBuf {
        self.pki.authority_file()
    }

    /// The open registry as it is reached from outside, `127.0.0.1:port`, to push to.
    pub fn registry(&self) -> String {
        format!("127.0.0.1:{}", self.registry_port)
    }

    /// Pushes an image, and gives the reference by which pods name it. It can be pulled from both
    /// registries.
    pub async fn push(
        &self,
        repository: &str,
        tag: &str,
        image: &Assembled,
    ) -> anyhow::Result<String> {
        let mut config = RegistryConfig::default();
        for allow in [Registries::allow_plain_http, Registries::allow_private] {
            allow(&mut config.registries, HostPattern::every());
        }
        let reference: Reference = format!("{}/{repository}:{tag}", self.registry()).parse()?;
        let client = RegistryClient::new(config);
        client.repository(&reference, None).push_image(image, tag).await?;
        Ok(format!("{REGISTRY}/{repository}:{tag}"))
    }

    /// A command that runs in the first machine, with the kubeconfig and the PATH of the node.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        self.record().command(&self.record().machines[0], program)
    }

    /// A command that runs in another machine.
    pub fn command_in(
        &self,
        machine: MachineNumber,
        program: impl AsRef<OsStr>,
    ) -> anyhow::Result<Command> {
        let record = self.record();
        let name = machine.name();
        let found = record.machines.iter().find(|found| found.name == name);
        Ok(record.command(found.with_context(|| format!("{name} does not run"))?, program))
    }

    /// Runs a command in the first machine to its end, and gives what it printed.
    pub fn run(&self, program: &str, args: &[&str]) -> anyhow::Result<String> {
        let output = self.command(program).args(args).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{program} {}: {}", args.join(" "), said.trim());
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Ends a program of a machine by a signal, such as `TERM` or `KILL`. Pods go on.
    pub fn stop_part(
        &mut self,
        machine: MachineNumber,
        part: Part,
        signal: &str,
    ) -> anyhow::Result<()> {
        self.worker(machine)?.stop_part(part, signal)
    }

    /// Ends a machine with everything on it, as a power cut would. Its Node object stays.
    pub fn power_off(&mut self, machine: MachineNumber) -> anyhow::Result<()> {
        ensure!(machine != MachineNumber::FIRST, "the control plane runs on the first machine");
        let at = self.position(machine)?;
        drop(self.workers.remove(at));
        self.write_record()
    }

    /// An error when a program of the node has ended by itself.
    pub fn check_alive(&mut self) -> anyhow::Result<()> {
        self.workers.iter_mut().try_for_each(Worker::check_alive)
    }

    /// Whether the node was ended from outside.
    pub fn has_ended(&mut self) -> bool {
        self.workers.first_mut().is_none_or(|worker| worker.machine.ended())
    }

    /// Ends everything, and says whether something was left behind.
    pub fn stop(self) -> anyhow::Result<()> {
        let folder = self.state.path().to_owned();
        drop(self);
        ensure!(!folder.exists(), "{} was left behind", folder.display());
        Ok(())
    }

    fn worker(&mut self, machine: MachineNumber) -> anyhow::Result<&mut Worker> {
        let at = self.position(machine)?;
        Ok(&mut self.workers[at])
    }

    pub(crate) fn position(&self, machine: MachineNumber) -> anyhow::Result<usize> {
        let at = self.workers.iter().position(|worker| worker.machine.number == machine);
        at.with_context(|| format!("{} does not run", machine.name()))
    }

    /// What other processes find the node by.
    pub(crate) fn write_record(&self) -> anyhow::Result<()> {
        self.record().write(&self.state)
    }

    fn record(&self) -> NodeRecord {
        let machine = |worker: &Worker| MachineRecord {
            name: worker.machine.number.name(),
            first_process: worker.machine.first_process,
        };
        NodeRecord {
            started_by: std::process::id(),
            kubeconfig: self.kubeconfig(),
            registry: self.registry(),
            logs: self.logs.clone(),
            path: self.programs.path(),
            machines: self.workers.iter().map(machine).collect(),
        }
    }
}
