//! Child processes that never outlive their owner: killed and reaped on drop, and killed by a
//! watchdog when this process dies without dropping anything.

use std::{
    fs::{self, File},
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};

/// A shell that sleeps in `read` on a pipe whose other end only this process holds. However this
/// process ends, the kernel closes that end, the shell wakes, removes the folder and kills its
/// process group, which all components have joined.
///
/// The kernel's own "signal on parent death" was weighed and left: it fires when the *thread* that
/// spawned the child ends, and test threads and runtime workers end long before the process does.
/// A process group also has no window between a spawn and its registration, and no number that
/// could have been given to another process meanwhile.
#[derive(Debug)]
pub struct Watchdog {
    shell: Child,
}

impl Watchdog {
    pub fn guard(folder: &Path) -> anyhow::Result<Self> {
        let shell = Command::new("sh")
            // The folder goes first, because the shell dies together with its group. An open file
            // does not mind.
            .args(["-c", r#"read -r _; rm -rf -- "$1"; kill -KILL 0"#, "watchdog"])
            .arg(folder)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("cannot run sh")?;
        Ok(Self { shell })
    }

    pub fn id(&self) -> u32 {
        self.shell.id()
    }

    /// Does at once what it would do at the end of this process: removes the folder and kills what
    /// is left of the group, such as children that a killed program had started.
    pub fn clear_away(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        end(&mut self.shell);
    }
}

/// One running program and its log.
#[derive(Debug)]
pub(crate) struct Component {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Component {
    /// Starts `program` in the watchdog's process group, appending what it says to a log in `dir`.
    pub(crate) fn spawn(
        name: &'static str,
        program: &Path,
        args: &[String],
        dir: &Path,
        watchdog: &Watchdog,
    ) -> anyhow::Result<Self> {
        // Programs in Go collect garbage less often: there is more memory than time.
        let mut command = Command::new(program);
        command.args(args).current_dir(dir).env("GOGC", "400");
        Self::start(name, &mut command, dir, watchdog)
    }

    /// As [`spawn`](Self::spawn), for a command with a folder, an environment or a user of its own.
    pub(crate) fn start(
        name: &'static str,
        command: &mut Command,
        dir: &Path,
        watchdog: &Watchdog,
    ) -> anyhow::Result<Self> {
        let log = dir.join(format!("{name}.log"));
        let output = File::options().create(true).append(true).open(&log)?;
        let program = command.get_program().to_owned();
        let child = command
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .process_group(i32::try_from(watchdog.id())?)
            .spawn()
            .with_context(|| format!("cannot run {}", program.to_string_lossy()))?;
        Ok(Self { name, child, log })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills and reaps it; nothing happens when it is dead already.
    pub(crate) fn kill(&mut self) {
        end(&mut self.child);
    }

    /// Asks it to end by a signal, kills it when it does not within `patience`, and says how it
    /// ended.
    pub(crate) fn stop(&mut self, signal: &str, patience: Duration) -> anyhow::Result<ExitStatus> {
        let asked = Instant::now();
        if self.ended()?.is_none() {
            self.signal(signal)?;
        }
        loop {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            if asked.elapsed() > patience {
                self.child.kill()?;
                return Ok(self.child.wait()?);
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// How it ended, if it did.
    pub(crate) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// All it said so far.
    pub(crate) fn log(&self) -> String {
        fs::read(&self.log)
            .map(|said| String::from_utf8_lossy(&said).into_owned())
            .unwrap_or_default()
    }

    /// An error with the end of the log when the program is no longer there.
    pub(crate) fn check_alive(&mut self) -> anyhow::Result<()> {
        if let Some(status) = self.ended()? {
            bail!("{} ended with {status}; {}", self.name, self.end_of_log());
        }
        Ok(())
    }

    pub(crate) fn end_of_log(&self) -> String {
        format!("the last lines of its log:\n{}", last_lines(&self.log, 15))
    }

    /// Whether the program could not have the port that it was told to listen on.
    pub(crate) fn lost_its_port(&self) -> bool {
        self.log().to_ascii_lowercase().contains("address already in use")
    }

    /// Sends a signal by name, such as `STOP` or `CONT`.
    pub(crate) fn signal(&self, signal: &str) -> anyhow::Result<()> {
        // The shell's own `kill`: minimal images have no such command.
        let sent = Command::new("sh")
            .args(["-c", r#"kill -"$1" "$2""#, "signal", signal])
            .arg(self.id().to_string())
            .output()?;
        if !sent.status.success() {
            let said = String::from_utf8_lossy(&sent.stderr);
            bail!("cannot send {signal} to {}: {}", self.name, said.trim());
        }
        Ok(())
    }
}

impl Drop for Component {
    fn drop(&mut self) {
        self.kill();
    }
}

fn end(child: &mut Child) {
    // Both fail only for a child that was reaped before, which is what is wanted here.
    let _: io::Result<()> = child.kill();
    let _ = child.wait();
}

pub fn last_lines(log: &Path, count: usize) -> String {
    let Ok(bytes) = fs::read(log) else {
        return format!("({} cannot be read)", log.display());
    };
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
