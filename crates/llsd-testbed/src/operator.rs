//! The operator as a separate process with its own log, and what it reports over HTTP.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use llsd_install::names;
use llsd_testkit::{ControlPlane, Program, loopback_client};

/// A running operator; dropping it kills it.
#[derive(Debug)]
pub struct Operator {
    program: Program,
}

/// The program that was built with the test or example that runs.
pub fn executable() -> PathBuf {
    let own = std::env::current_exe().expect("a running program");
    let profile = own.parent().and_then(Path::parent).expect("a folder of the build's profile");
    profile.join("llsd")
}

impl Operator {
    /// Starts it as `user`, with more arguments.
    pub fn start(cluster: &ControlPlane, user: &str, namespace: &str, arguments: &[&str]) -> Self {
        let kubeconfig = cluster.kubeconfig_for(user, &[]);
        Self::run(&executable(), cluster, "operator", &kubeconfig, namespace, arguments)
    }

    /// Starts another build of it.
    pub fn of_program(
        program: &Path,
        cluster: &ControlPlane,
        user: &str,
        arguments: &[&str],
    ) -> Self {
        let kubeconfig = cluster.kubeconfig_for(user, &[]);
        Self::run(program, cluster, "other-build", &kubeconfig, names::NAMESPACE, arguments)
    }

    /// Starts one of several, under a kubeconfig of the test's choice.
    pub fn replica(cluster: &ControlPlane, kubeconfig: &Path, arguments: &[&str]) -> Self {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        // Logs are named for the life of the process; a test starts some dozens.
        let name: &'static str = Box::leak(format!("replica-{number}").into_boxed_str());
        Self::run(&executable(), cluster, name, kubeconfig, names::NAMESPACE, arguments)
    }

    fn run(
        program: &Path,
        cluster: &ControlPlane,
        name: &'static str,
        kubeconfig: &Path,
        namespace: &str,
        arguments: &[&str],
    ) -> Self {
        let mut command = Command::new(program);
        command
            .arg("run")
            .args(["--operator-namespace", namespace, "--log-level", "debug"])
            .args(["--metrics-bind-address", "127.0.0.1:0"])
            .args(["--health-probe-bind-address", "127.0.0.1:0"])
            .args(arguments)
            .env("KUBECONFIG", kubeconfig)
            .env_remove("WATCH_NAMESPACE")
            .env_remove("OPERATOR_NAMESPACE");
        Self { program: cluster.run_program(name, &mut command).unwrap() }
    }

    pub fn id(&self) -> u32 {
        self.program.id()
    }

    pub fn log(&self) -> String {
        self.program.log()
    }

    /// As a crash would.
    pub fn kill(&mut self) {
        self.program.kill();
    }

    /// As Kubernetes would, which waits thirty seconds.
    pub fn stop(&mut self) -> ExitStatus {
        self.program.stop(Duration::from_secs(30)).unwrap()
    }

    pub fn signal(&self, signal: &str) {
        self.program.signal(signal).unwrap();
    }

    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.program.ended().unwrap()
    }

    /// Waits for its end, without asking for it.
    pub async fn until_ended(&mut self) -> ExitStatus {
        for _ in 0..600 {
            if let Some(ended) = self.ended() {
                return ended;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("it does not end; its log:\n{}", self.log());
    }

    /// The status that a probe is answered with; `None` where nobody answers.
    pub async fn probe(&self, path: &str) -> Option<u16> {
        let address = self.address("probes")?;
        Some(get(&format!("http://{address}{path}")).await?.0)
    }

    /// A figure as it is now, such as `llsd_leader`; `None` where nobody answers, or it has none.
    pub async fn figure(&self, name: &str) -> Option<f64> {
        let address = self.address("metrics")?;
        let (_, text) = get(&format!("http://{address}/metrics")).await?;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.parse().ok()
    }

    /// Where its figures are read, such as `127.0.0.1:40000`.
    pub fn metrics_address(&self) -> Option<String> {
        self.address("metrics")
    }

    /// What the log says that it serves there; last, because one that ran before wrote there too.
    fn address(&self, what: &str) -> Option<String> {
        let log = self.log();
        let at = log.rfind(&format!("{what}=Some("))? + what.len() + "=Some(".len();
        Some(log[at..].split(')').next()?.to_owned())
    }
}

async fn get(url: &str) -> Option<(u16, String)> {
    let request = loopback_client::client(None).unwrap().get(url);
    let answer = request.timeout(Duration::from_secs(5)).send().await.ok()?;
    Some((answer.status().as_u16(), answer.text().await.ok()?))
}
