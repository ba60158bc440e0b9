//! The operator as a process, and what it takes of the machine.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context;
use llsd_install::names;
use llsd_testkit::{ControlPlane, Program};

/// A running operator.
pub struct Operator {
    path: PathBuf,
    /// Beside those that it always has.
    arguments: Vec<String>,
    program: Program,
}

/// Now, of it what lies in files such as the program itself, and at most since the start.
pub struct Memory {
    now: u64,
    files: u64,
    peak: u64,
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = |kilobytes: u64| kilobytes as f64 * 1024.0 / 1e6;
        let [now, files, peak] = [self.now, self.files, self.peak].map(megabytes);
        write!(f, "{now:.1} MB, {files:.1} of it the program (peak {peak:.1})")
    }
}

impl Operator {
    /// Returns once it leads.
    pub async fn start(
        path: PathBuf,
        arguments: Vec<String>,
        cluster: &ControlPlane,
        user: &str,
        servers: &SocketAddr,
    ) -> anyhow::Result<Self> {
        let mut command = Command::new(&path);
        command
            .arg("run")
            .args(["--operator-namespace", names::NAMESPACE])
            .args(["--metrics-bind-address", "127.0.0.1:0"])
            .args(["--health-probe-bind-address", "0"])
            .arg(format!("--server-url-template=http://{servers}"))
            .args(&arguments)
            .env("KUBECONFIG", cluster.kubeconfig_for(user, &[]));
        let program = cluster.run_program("operator", &mut command)?;
        let operator = Self { path, arguments, program };
        operator.until("llsd_leader", 1.0).await;
        Ok(operator)
    }

    /// Ends it in good order and starts it again; how long the new one took to look at all.
    pub async fn restart(
        &mut self,
        cluster: &ControlPlane,
        user: &str,
        servers: &SocketAddr,
        count: usize,
    ) -> anyhow::Result<Duration> {
        self.stop()?;
        let begun = Instant::now();
        let arguments = self.arguments.clone();
        *self = Self::start(self.path.clone(), arguments, cluster, user, servers).await?;
        self.until(r#"llsd_reconciles_total{result="planned"}"#, count as f64).await;
        Ok(begun.elapsed())
    }

    /// In good order.
    pub fn stop(&mut self) -> anyhow::Result<()> {
        self.program.stop(Duration::from_secs(30))?;
        Ok(())
    }

    /// From the next start on.
    pub fn add_arguments(&mut self, arguments: impl IntoIterator<Item = String>) {
        self.arguments.extend(arguments);
    }

    async fn until(&self, figure: &str, value: f64) {
        while self.figure(figure).await.is_none_or(|now| now < value) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn figure(&self, name: &str) -> Option<f64> {
        // The log is appended to by each one in turn.
        let log = self.program.log();
        let at = log.rfind("metrics=Some(")? + "metrics=Some(".len();
        let address = log[at..].split(')').next()?;
        let text =
            reqwest::get(format!("http://{address}/metrics")).await.ok()?.text().await.ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.parse().ok()
    }

    pub fn memory(&self) -> anyhow::Result<Memory> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.program.id()))?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
            number.with_context(|| format!("no {name} in /proc"))
        };
        Ok(Memory { now: field("VmRSS:")?, files: field("RssFile:")?, peak: field("VmHWM:")? })
    }

    /// All CPU time so far.
    pub fn cpu(&self) -> anyhow::Result<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.program.id()))?;
        // After the name, which may hold anything: user and system time are the 12th and 13th.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split(' ').collect();
        let ticks: u64 = fields[12].parse::<u64>()? + fields[13].parse::<u64>()?;
        // Linux counts in hundredths of a second wherever it matters here.
        Ok(Duration::from_millis(ticks * 10))
    }
}
