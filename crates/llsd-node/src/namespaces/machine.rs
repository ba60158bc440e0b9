//! A machine: one set of namespaces (processes, mounts, network) with a first process. It ends with the
//! process that started it, by whatever means that ends, and the kernel ends all that ran in it.

use std::{
    ffi::OsStr,
    io::{BufRead, BufReader, Write},
    os::unix::process::CommandExt,
    process::{Child, ChildStdin, Command, Stdio},
};

use anyhow::{Context, bail, ensure};

use crate::{
    addresses::MachineNumber,
    state::{MachineFolder, StateFolder},
};

const JANITOR: &str = include_str!("janitor.sh");
const FIRST_PROCESS: &str = include_str!("machine.sh");
/// Debian's programs lie in these folders, whatever the PATH of the user is.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What a machine finds when it starts.
#[derive(Debug)]
pub(crate) struct MachineSettings<'a> {
    pub(crate) number: MachineNumber,
    pub(crate) state: &'a StateFolder,
    /// Lines for `/etc/hosts`.
    pub(crate) hosts: &'a str,
}

/// Running namespaces.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) number: MachineNumber,
    pub(crate) folder: MachineFolder,
    /// The machine's first process, by its number outside.
    pub(crate) first_process: u32,
    /// The first machine's janitor; of further ones, the command that entered the first.
    outside: Child,
    /// The first process waits for the end of this pipe, whose other end only this process holds.
    lifeline: Option<ChildStdin>,
}

impl Machine {
    /// The first machine, and the janitor that cleans up behind all of them.
    pub(crate) fn first(settings: &MachineSettings) -> anyhow::Result<Self> {
        let mut janitor = Command::new("sh");
        janitor
            .args(["-c", JANITOR, "janitor"])
            .arg(settings.state.path())
            .arg(FIRST_PROCESS)
            .args(settings.variables());
        Self::start(settings, &mut janitor)
    }

    /// One more machine, which ends with the first.
    pub(crate) fn beside(first: &Self, settings: &MachineSettings) -> anyhow::Result<Self> {
        let mut command = Command::new("nsenter");
        command
            .args(["--target", &first.first_process.to_string(), "--pid", "--", "unshare"])
            .args(["--mount", "--net", "--pid", "--ipc", "--fork", "--propagation", "private"])
            .args(["--", "env"])
            .args(settings.variables())
            .args(["sh", "-c", FIRST_PROCESS, "machine"]);
        Self::start(settings, &mut command)
    }

    fn start(settings: &MachineSettings, command: &mut Command) -> anyhow::Result<Self> {
        let mut outside = command
            .env("PATH", SYSTEM_PATH)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Ctrl-C is for the process that started the node, which then ends it in order.
            .process_group(0)
            .spawn()
            .context("cannot run sh")?;
        let lifeline = outside.stdin.take();
        let mut said = String::new();
        if let Some(output) = outside.stdout.take() {
            BufReader::new(output).read_line(&mut said)?;
        }
        let Ok(first_process) = said.trim().parse() else {
            drop(lifeline);
            let status = outside.wait()?;
            bail!("{} did not start ({status}); the reason is above", settings.number.name());
        };
        let folder = settings.state.machine(settings.number);
        Ok(Self { number: settings.number, folder, first_process, outside, lifeline })
    }

    /// A command that runs in this machine.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        enter(self.first_process, program)
    }

    /// Runs a command in this machine to its end, and gives what it printed.
    pub(crate) fn run(&self, program: &str, args: &[&str], input: &str) -> anyhow::Result<String> {
        let mut child = self
            .command(program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot run nsenter")?;
        if let Some(mut stdin) = child.stdin.take() {
            // It may end without reading everything, and its answer is what counts then.
            let _ = stdin.write_all(input.as_bytes());
        }
        let output = child.wait_with_output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{program} {}: {}", args.join(" "), said.trim());
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Whether its first process has ended.
    pub(crate) fn ended(&mut self) -> bool {
        !matches!(self.outside.try_wait(), Ok(None))
    }

    /// Ends everything in it at once, as a power cut would, and waits until nothing is left.
    pub(crate) fn end(&mut self) {
        drop(self.lifeline.take());
        // Fails only when it was waited for before.
        let _ = self.outside.wait();
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.end();
    }
}

impl MachineSettings<'_> {
    fn variables(&self) -> Vec<String> {
        let folder = self.state.machine(self.number);
        vec![
            format!("FOLDER={}", folder.path().display()),
            format!("CGROUP={}", folder.cgroup()),
            format!("DNS={}", MachineNumber::FIRST.address()),
            format!("HOSTS={}", self.hosts),
        ]
    }
}

/// A command in the machine with this first process.
pub(crate) fn enter(first_process: u32, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("nsenter");
    command
        .args(["--target", &first_process.to_string()])
        .args(["--mount", "--net", "--pid", "--ipc", "--"])
        .arg(program);
    command
}
