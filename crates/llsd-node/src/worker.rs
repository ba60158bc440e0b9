//! What runs on every machine of the node: containerd, kubelet and kube-proxy.

use std::{path::Path, time::Duration};

use anyhow::Context;

use crate::{
    configuration::MachineFiles,
    namespaces::Machine,
    programs::Programs,
    running_program::{ProgramSettings, RunningProgram},
};

/// A program that every machine has one of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Containerd,
    Kubelet,
    KubeProxy,
}

impl Part {
    const fn name(self) -> &'static str {
        match self {
            Self::Containerd => "containerd",
            Self::Kubelet => "kubelet",
            Self::KubeProxy => "kube-proxy",
        }
    }
}

/// How long a program has to end by itself.
const PATIENCE: Duration = Duration::from_secs(10);

/// A machine and its programs.
// The machine drops first: with it the kernel ends all that runs there.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) machine: Machine,
    programs: Vec<RunningProgram>,
    /// Those that were stopped, to be started again.
    stopped: Vec<ProgramSettings>,
}

impl Worker {
    pub(crate) fn new(machine: Machine) -> Self {
        Self { machine, programs: Vec::new(), stopped: Vec::new() }
    }

    pub(crate) fn start(
        &mut self,
        part: Part,
        files: &MachineFiles,
        logs: &Path,
    ) -> anyhow::Result<()> {
        let Programs { containerd, kubelet, kube_proxy, .. } = files.programs;
        let (program, args) = match part {
            Part::Containerd => (containerd, files.containerd_flags()),
            Part::Kubelet => (kubelet, files.kubelet_flags()),
            Part::KubeProxy => (kube_proxy, files.kube_proxy_flags()),
        };
        self.run(ProgramSettings {
            name: part.name(),
            program: program.clone(),
            args,
            path: files.programs.path(),
            logs: logs.to_owned(),
        })
    }

    /// Whether containerd answers. A kubelet that starts before gives up.
    pub(crate) fn containers_can_run(&self, programs: &Programs) -> anyhow::Result<()> {
        let client = programs.containerd.with_file_name("ctr");
        self.machine.run(&client.display().to_string(), &["version"], "").map(drop)
    }

    /// Runs one more program in the machine.
    pub(crate) fn run(&mut self, settings: ProgramSettings) -> anyhow::Result<()> {
        self.programs.push(RunningProgram::start(settings, &self.machine)?);
        Ok(())
    }

    pub(crate) fn check_alive(&mut self) -> anyhow::Result<()> {
        self.programs.iter_mut().try_for_each(RunningProgram::check_alive)
    }

    /// Ends one program by a signal; pods go on.
    pub(crate) fn stop_part(&mut self, part: Part, signal: &str) -> anyhow::Result<()> {
        let at = self.programs.iter().position(|program| program.name() == part.name());
        let mut program = self.programs.remove(at.context("it does not run")?);
        program.stop(&self.machine, signal, PATIENCE)?;
        self.stopped.push(program.settings().clone());
        Ok(())
    }

    pub(crate) fn start_part(&mut self, part: Part) -> anyhow::Result<()> {
        let at = self.stopped.iter().position(|settings| settings.name == part.name());
        let settings = self.stopped.remove(at.context("it was not stopped")?);
        self.run(settings)
    }
}
