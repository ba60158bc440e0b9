//! A program that runs in a machine: started, stopped and started again, with a log of what it says.

use std::{
    fs::File,
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use llsd_testkit::last_lines;

use crate::namespaces::Machine;

/// How a program is run.
#[derive(Debug, Clone)]
pub(crate) struct ProgramSettings {
    pub(crate) name: &'static str,
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    /// Where it looks for other programs.
    pub(crate) path: String,
    /// The folder for its log.
    pub(crate) logs: PathBuf,
}

/// One that was started. It ends with its machine.
#[derive(Debug)]
pub(crate) struct RunningProgram {
    settings: ProgramSettings,
    machine: String,
    /// The command that entered the machine; it ends with the program.
    child: Child,
    number_file: PathBuf,
}

impl RunningProgram {
    pub(crate) fn start(settings: ProgramSettings, machine: &Machine) -> anyhow::Result<Self> {
        let number_file = machine.folder.file(&format!("{}.number", settings.name));
        let name = machine.number.name();
        let log = log_file(&settings, &name);
        let output = File::options().create(true).append(true).open(&log)?;
        let child = machine
            .command("sh")
            // Signals need its number inside, which nothing outside can tell.
            .args(["-c", r#"echo $$ >"$1"; shift; exec "$@""#, "program"])
            .arg(&number_file)
            .arg(&settings.program)
            .args(&settings.args)
            .env("PATH", &settings.path)
            .env("TMPDIR", machine.folder.file("tmp"))
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .process_group(0)
            .spawn()
            .context("cannot run nsenter")?;
        Ok(Self { settings, machine: name, child, number_file })
    }

    pub(crate) fn name(&self) -> &'static str {
        self.settings.name
    }

    pub(crate) fn settings(&self) -> &ProgramSettings {
        &self.settings
    }

    /// An error with the end of the log when the program is no longer there.
    pub(crate) fn check_alive(&mut self) -> anyhow::Result<()> {
        if let Some(status) = self.child.try_wait()? {
            let log = log_file(&self.settings, &self.machine);
            let said = last_lines(&log, 15);
            bail!(
                "{} of {} ended ({status}); its log ends:\n{said}",
                self.settings.name,
                self.machine
            );
        }
        Ok(())
    }

    /// Sends a signal, and kills the program when it has not ended after `patience`.
    pub(crate) fn stop(
        &mut self,
        machine: &Machine,
        signal: &str,
        patience: Duration,
    ) -> anyhow::Result<()> {
        let asked = Instant::now();
        self.signal(machine, signal)?;
        while self.child.try_wait()?.is_none() {
            if asked.elapsed() > patience {
                self.signal(machine, "KILL")?;
                self.child.wait()?;
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Sends a signal by name, such as `STOP` or `CONT`.
    pub(crate) fn signal(&self, machine: &Machine, signal: &str) -> anyhow::Result<()> {
        let number = std::fs::read_to_string(&self.number_file)?;
        // The shell's own `kill`: minimal systems have no such command.
        machine
            .run("sh", &["-c", r#"kill -"$1" "$2""#, "signal", signal, number.trim()], "")
            .map(drop)
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        // The machine has ended, or the program goes on in it; only the command outside is waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn log_file(settings: &ProgramSettings, machine: &str) -> PathBuf {
    settings.logs.join(format!("{machine}-{}.log", settings.name))
}
