//! A program of a test's own, run beside the control plane: it never outlives it, and what it says is
//! in a log.

use std::{
    io,
    process::{Command, ExitStatus},
    time::Duration,
};

use crate::{control_plane::ControlPlane, process::Component};

/// A running program; dropping it kills it.
#[derive(Debug)]
pub struct Program(Component);

impl ControlPlane {
    /// Starts a command that ends with this control plane at the latest. Its log is appended to
    /// `<name>.log` in the control plane's folder.
    pub fn run_program(
        &self,
        name: &'static str,
        command: &mut Command,
    ) -> anyhow::Result<Program> {
        Component::start(name, command, self.dir.path(), &self.watchdog).map(Program)
    }
}

impl Program {
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// All that it said so far, and programs of the same name before it.
    pub fn log(&self) -> String {
        self.0.log()
    }

    /// The last lines that it said.
    pub fn end_of_log(&self) -> String {
        self.0.end_of_log()
    }

    /// An error with the end of its log where it has ended.
    pub fn check_alive(&mut self) -> anyhow::Result<()> {
        self.0.check_alive()
    }

    /// How it ended, if it did.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.0.ended()
    }

    /// Kills it as a crash would, without any time to clean up.
    pub fn kill(&mut self) {
        self.0.kill();
    }

    /// Sends a signal by name, such as `STOP` or `CONT`.
    pub fn signal(&self, signal: &str) -> anyhow::Result<()> {
        self.0.signal(signal)
    }

    /// Asks it to end, kills it when it does not within `patience`, and says how it ended.
    pub fn stop(&mut self, patience: Duration) -> anyhow::Result<ExitStatus> {
        self.0.stop("TERM", patience)
    }
}
