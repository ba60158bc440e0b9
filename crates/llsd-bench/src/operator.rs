//! An operator as a process, and what it takes of the machine.

use std::ffi::OsString;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use llsd_install::names;
use llsd_testkit::{ControlPlane, Program, free_port, loopback_client};

use crate::readiness::Counter;

/// Nothing that an operator works on stands still for so long, even on a busy machine.
const STANDSTILL: Duration = Duration::from_mins(5);
/// How often a wait looks whether the program still runs.
const LOOKS_AFTER: Duration = Duration::from_secs(1);
/// For one reading of its figures.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);

/// How an operator is started.
#[derive(Clone, Debug)]
pub struct Launch {
    path: PathBuf,
    arguments: Vec<OsString>,
    kubeconfig: PathBuf,
    /// It is this project's, and says in its metrics how far it is.
    ours: bool,
}

impl Launch {
    /// This project's operator, as `user`; it asks `servers` instead of those that would run.
    pub fn ours(cluster: &ControlPlane, user: &str, path: &Path, servers: &SocketAddr) -> Self {
        let kubeconfig = cluster.kubeconfig_for(user, &[]);
        let arguments = vec!["run".into()];
        let mut launch = Self { path: path.to_owned(), arguments, kubeconfig, ours: true };
        launch.set("--operator-namespace", names::NAMESPACE);
        launch.set("--health-probe-bind-address", "0");
        launch.set("--server-url-template", &format!("http://{servers}"));
        launch
    }

    /// Another operator, as an administrator of this name.
    pub fn other(cluster: &ControlPlane, user: &str, path: &Path, arguments: &[String]) -> Self {
        let arguments = arguments.iter().map(OsString::from).collect();
        let kubeconfig = cluster.kubeconfig_for(user, &["system:masters"]);
        Self { path: path.to_owned(), arguments, kubeconfig, ours: false }
    }

    /// With this value of a flag, whatever it was before.
    pub fn set(&mut self, flag: &str, value: &str) {
        let begin = format!("{flag}=");
        self.arguments.retain(|it| !it.to_string_lossy().starts_with(&begin));
        self.arguments.push(format!("{begin}{value}").into());
    }

    /// Serves its webhooks at this address of the machine.
    pub fn serve_webhooks(&mut self, address: &str) {
        self.set("--webhook-bind-address", address);
        self.set("--webhook-url", &format!("https://{address}"));
    }

    pub fn is_ours(&self) -> bool {
        self.ours
    }
}

/// A running operator.
#[derive(Debug)]
pub struct Operator {
    pub launch: Launch,
    program: Program,
    /// Where this project's serves its figures.
    figures: String,
}

/// Something that is waited for, and how far it is.
#[derive(Debug)]
struct Growth<'a> {
    what: &'a str,
    most: f64,
    /// When it last grew.
    grew: Instant,
}

impl<'a> Growth<'a> {
    fn new(what: &'a str) -> Self {
        Self { what, most: 0.0, grew: Instant::now() }
    }

    fn update(&mut self, now: f64) {
        if now > self.most {
            self.most = now;
            self.grew = Instant::now();
        }
    }
}

/// Now, of it what lies in files such as the program itself, and at most since the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    now: u64,
    files: u64,
    peak: u64,
}

impl Memory {
    pub fn megabytes(&self) -> f64 {
        megabytes(self.now)
    }
}

fn megabytes(kilobytes: u64) -> f64 {
    kilobytes as f64 * 1024.0 / 1e6
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [now, files, peak] = [self.now, self.files, self.peak].map(megabytes);
        write!(f, "{now:.1} MB, {files:.1} of it the program (peak {peak:.1})")
    }
}

impl Operator {
    /// Returns once it leads; another project's, after ten seconds.
    pub async fn start(cluster: &ControlPlane, launch: Launch) -> anyhow::Result<Self> {
        let mut operator = Self::stand_by(cluster, launch)?;
        if operator.launch.ours {
            operator.until("llsd_leader", 1.0).await?;
        } else {
            tokio::time::sleep(Duration::from_secs(10)).await;
            operator.check_alive()?;
        }
        Ok(operator)
    }

    /// Beside one that leads.
    pub fn stand_by(cluster: &ControlPlane, mut launch: Launch) -> anyhow::Result<Self> {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        // A log of its own, whose end is about this process alone. Logs are named for the life of the bench, which
        // starts some dozens.
        let log: &'static str = Box::leak(format!("operator-{number}").into_boxed_str());
        let figures = format!("127.0.0.1:{}", free_port()?);
        if launch.ours {
            launch.set("--metrics-bind-address", &figures);
        }
        let mut command = Command::new(&launch.path);
        command
            .args(&launch.arguments)
            .env("KUBECONFIG", &launch.kubeconfig)
            .env("OPERATOR_NAMESPACE", names::NAMESPACE)
            .env_remove("WATCH_NAMESPACE");
        let program = cluster.run_program(log, &mut command)?;
        Ok(Self { launch, program, figures })
    }

    /// Ends it in good order and starts it again; how long the new one took to reconcile them all.
    pub async fn restart(
        &mut self,
        cluster: &ControlPlane,
        count: usize,
    ) -> anyhow::Result<Duration> {
        self.stop()?;
        let begun = Instant::now();
        *self = Self::start(cluster, self.launch.clone()).await?;
        self.until(r#"llsd_reconciles_total{result="planned"}"#, count as f64).await?;
        Ok(begun.elapsed())
    }

    /// In good order.
    pub fn stop(&mut self) -> anyhow::Result<()> {
        self.program.stop(Duration::from_secs(30))?;
        Ok(())
    }

    /// As a lost node would.
    pub fn kill(&mut self) {
        self.program.kill();
    }

    /// By name, such as `STOP` or `CONT`.
    pub fn signal(&self, signal: &str) -> anyhow::Result<()> {
        self.program.signal(signal)
    }

    pub fn process_id(&self) -> u32 {
        self.program.id()
    }

    /// An error with the end of its log where it has ended.
    pub fn check_alive(&mut self) -> anyhow::Result<()> {
        self.program.check_alive()
    }

    /// Whether it says that it leads.
    pub async fn leads(&self) -> bool {
        self.figure("llsd_leader").await == Some(1.0)
    }

    /// Waits until there are so many. Fails with the end of the log if it ends before, or if their number stands still.
    pub async fn brings(
        &mut self,
        what: &str,
        counter: &Counter,
        count: usize,
    ) -> anyhow::Result<()> {
        let mut growth = Growth::new(what);
        while tokio::time::timeout(LOOKS_AFTER, counter.reaches(count)).await.is_err() {
            self.must_go_on(&mut growth, counter.now() as f64)?;
        }
        Ok(())
    }

    async fn until(&mut self, figure: &str, value: f64) -> anyhow::Result<()> {
        let mut growth = Growth::new(figure);
        loop {
            let now = self.figure(figure).await.unwrap_or_default();
            if now >= value {
                return Ok(());
            }
            self.must_go_on(&mut growth, now)?;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    fn must_go_on(&mut self, growth: &mut Growth<'_>, now: f64) -> anyhow::Result<()> {
        self.check_alive().with_context(|| format!("waiting for {}", growth.what))?;
        growth.update(now);
        ensure!(
            growth.grew.elapsed() < STANDSTILL,
            "{}: {now} now, and {} at most for {} s; {}",
            growth.what,
            growth.most,
            STANDSTILL.as_secs(),
            self.program.end_of_log(),
        );
        Ok(())
    }

    async fn figure(&self, name: &str) -> Option<f64> {
        let client = loopback_client::client(None).ok()?;
        let request = client.get(format!("http://{}/metrics", self.figures));
        let text = request.timeout(ANSWERS_WITHIN).send().await.ok()?.text().await.ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.parse().ok()
    }

    pub fn memory(&self) -> anyhow::Result<Memory> {
        memory(self.program.id())
    }

    /// All CPU time so far.
    pub fn cpu(&self) -> anyhow::Result<Duration> {
        cpu(self.program.id())
    }
}

pub fn memory(process: u32) -> anyhow::Result<Memory> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
        number.with_context(|| format!("no {name} in /proc"))
    };
    Ok(Memory { now: field("VmRSS:")?, files: field("RssFile:")?, peak: field("VmHWM:")? })
}

pub fn cpu(process: u32) -> anyhow::Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // After the name, which may hold anything: user and system time are the 12th and 13th.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split(' ').collect();
    let ticks: u64 = fields[12].parse::<u64>()? + fields[13].parse::<u64>()?;
    // Linux counts in hundredths of a second wherever it matters here.
    Ok(Duration::from_millis(ticks * 10))
}

pub fn descriptors(process: u32) -> anyhow::Result<usize> {
    Ok(std::fs::read_dir(format!("/proc/{process}/fd"))?.count())
}
