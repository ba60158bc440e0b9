//! The process of one container: started with its own view of the file system, asked to end, and
//! its last words. `container.py` makes that view.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use serde::Serialize;
use tokio::{
    io::AsyncWriteExt,
    process::{Child, Command},
    time::timeout,
};

use crate::namespaces::Namespaces;

pub(crate) const SCRIPT: &str = include_str!("container.py");

/// Kubernetes keeps this much of what a container said last.
const LAST_WORDS: u64 = 2048;
/// A machine that is busy needs a moment even for that.
const BURIAL: Duration = Duration::from_secs(5);
/// By the signal KILL.
const KILLED: i32 = 128 + 9;

/// What `container.py` reads. With the environment in it, it is neither printed nor written to a
/// file.
#[derive(Serialize)]
pub(crate) struct Spec {
    pub(crate) root: PathBuf,
    pub(crate) pid_file: PathBuf,
    pub(crate) hostname: String,
    pub(crate) mounts: Vec<Mount>,
    pub(crate) read_only_root: bool,
    pub(crate) identity: Identity,
    pub(crate) no_new_privileges: bool,
    pub(crate) working_dir: String,
    pub(crate) command: Vec<String>,
    pub(crate) env: std::collections::BTreeMap<String, String>,
}

/// A file or folder of this machine, and where the container sees it.
#[derive(Debug, Serialize)]
pub(crate) struct Mount {
    pub(crate) source: PathBuf,
    pub(crate) target: PathBuf,
    pub(crate) read_only: bool,
}

/// Whom the container runs as.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Identity {
    pub(crate) user: i64,
    pub(crate) group: i64,
    pub(crate) groups: Vec<i64>,
    /// Else the user of the test appears in the container as `user`, and the group as `group`.
    pub(crate) may_be_anybody: bool,
}

/// Killed, with everything that it started, when dropped.
pub(crate) struct Process {
    /// The parent of the container's first process; they end together.
    child: Child,
    pid_file: PathBuf,
    log: PathBuf,
    /// Where in the log this run begins.
    begin: u64,
}

impl Process {
    /// Starts in the process group `group`, in the network of the process `sandbox`, and appends
    /// what it says to `log`.
    pub(crate) async fn start(
        namespaces: &Namespaces,
        script: &Path,
        (sandbox, group): (u32, i32),
        spec: &Spec,
        log: &Path,
    ) -> anyhow::Result<Self> {
        fs::create_dir_all(&spec.root)?;
        if spec.pid_file.exists() {
            fs::remove_file(&spec.pid_file)?;
        }
        let output = File::options().create(true).append(true).open(log)?;
        let begin = output.metadata()?.len();
        let mut child = Command::from(namespaces.in_new_container(sandbox, script))
            .stdin(Stdio::piped())
            .stdout(output.try_clone()?)
            .stderr(output)
            .process_group(group)
            .kill_on_drop(true)
            .spawn()?;
        if let Some(mut input) = child.stdin.take() {
            // One that ends before it has read everything says why in its log.
            let _ = input.write_all(&serde_json::to_vec(spec)?).await;
        }
        Ok(Self { child, pid_file: spec.pid_file.clone(), log: log.to_owned(), begin })
    }

    fn first(&self) -> Option<u32> {
        first_process(&self.pid_file)
    }

    /// Waits for its end; an exit code as a shell would show it.
    pub(crate) async fn wait(&mut self) -> i32 {
        self.child.wait().await.map_or(KILLED, exit_code)
    }

    /// Asks it to end, and kills all of it when it does not within `grace`.
    pub(crate) async fn stop(&mut self, grace: Duration) -> i32 {
        if let Some(first) = self.first().filter(|_| !grace.is_zero()) {
            signal("TERM", first).await;
            if let Ok(ended) = timeout(grace, self.child.wait()).await {
                return ended.map_or(KILLED, exit_code);
            }
        }
        if let Some(first) = self.first() {
            signal("KILL", first).await;
            // The parent buries its child, which else were left to the first process of the
            // machine.
            let _ = timeout(BURIAL, self.child.wait()).await;
        }
        let _ = self.child.kill().await;
        KILLED
    }

    /// The end of what it said since it started.
    pub(crate) fn last_output(&self) -> String {
        let read = || -> io::Result<String> {
            let mut file = File::open(&self.log)?;
            let length = file.metadata()?.len();
            let from = self.begin.max(length.saturating_sub(LAST_WORDS));
            file.seek(SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            file.take(LAST_WORDS).read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        read().unwrap_or_default()
    }
}

fn exit_code(status: ExitStatus) -> i32 {
    status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(KILLED)
}

async fn signal(name: &str, process: u32) {
    // The shell's own `kill`: minimal images have no such command. A process that has ended
    // meanwhile need not hear of it.
    let _ = Command::new("sh")
        .args(["-c", r#"kill -"$1" "$2""#, "signal", name])
        .arg(process.to_string())
        .stderr(Stdio::null())
        .status()
        .await;
}

/// The container's first process, once it has written down its number.
pub(crate) fn first_process(pid_file: &Path) -> Option<u32> {
    fs::read_to_string(pid_file).ok()?.trim().parse().ok()
}
