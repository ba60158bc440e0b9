//! Probes of one running container: asked at their pace, counted as a kubelet counts.

use std::{collections::BTreeMap, convert::Infallible, path::Path, process::Stdio, time::Duration};

use futures::future::pending;
use k8s_openapi::{
    api::core::v1::{Container, ExecAction, HTTPGetAction, Probe},
    apimachinery::pkg::util::intstr::IntOrString,
};
use reqwest::{Client, redirect::Policy};
use tokio::{
    process::Command,
    time::{sleep, timeout},
};

use crate::{
    namespaces::Namespaces,
    network::Network,
    process::{Identity, first_process},
};

/// What a container's probes have found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProbeResult {
    Started,
    Ready(bool),
    /// One attempt failed, with what it met.
    Failed(Kind, String),
}

/// Which of a container's probes it is, in the kubelet's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Startup,
    Readiness,
    Liveness,
}

/// Whom and how the probes of a container ask.
pub(crate) struct Prober<'a> {
    pub(crate) container: &'a Container,
    pub(crate) network: &'a Network,
    pub(crate) ip: &'a str,
    pub(crate) client: &'a Client,
    pub(crate) namespaces: &'a Namespaces,
    pub(crate) sandbox: u32,
    pub(crate) pid_file: &'a Path,
    pub(crate) env: &'a BTreeMap<String, String>,
    pub(crate) identity: &'a Identity,
}

/// A client that takes any certificate and follows no redirect, as the kubelet's.
pub(crate) fn client() -> anyhow::Result<Client> {
    llsd_testkit::install_crypto_provider();
    // Each request finds its pod again.
    let client = Client::builder().no_proxy().redirect(Policy::none()).pool_max_idle_per_host(0);
    Ok(client.tls_danger_accept_invalid_certs(true).build()?)
}

impl Prober<'_> {
    /// Tells of every change and every failure, and returns when the container must be restarted, with the probe that
    /// failed too often.
    pub(crate) async fn watch(&self, record: impl Fn(ProbeResult)) -> Kind {
        let Container { startup_probe, readiness_probe, liveness_probe, .. } = self.container;
        let next = async |probe, kind, tally: &mut Tally, first| {
            self.next_result(probe, tally, first, |met| record(ProbeResult::Failed(kind, met)))
                .await
        };
        if let Some(probe) = startup_probe
            && !next(probe, Kind::Startup, &mut Tally::default(), true).await
        {
            return Kind::Startup;
        }
        record(ProbeResult::Started);
        let readiness = async {
            let Some(probe) = readiness_probe else {
                record(ProbeResult::Ready(true));
                return pending::<Infallible>().await;
            };
            let mut tally = Tally::default();
            let mut first = true;
            loop {
                let ready = next(probe, Kind::Readiness, &mut tally, first).await;
                record(ProbeResult::Ready(ready));
                first = false;
            }
        };
        let liveness = async {
            let Some(probe) = liveness_probe else { return pending().await };
            let mut tally = Tally::default();
            let mut first = true;
            while next(probe, Kind::Liveness, &mut tally, first).await {
                first = false;
            }
        };
        tokio::select! {
            never = readiness => match never {},
            () = liveness => Kind::Liveness,
        }
    }

    /// Asks until one of the thresholds is reached.
    async fn next_result(
        &self,
        probe: &Probe,
        tally: &mut Tally,
        first: bool,
        failed: impl Fn(String),
    ) -> bool {
        let period = seconds(probe.period_seconds, 10);
        let delay = seconds(probe.initial_delay_seconds, 0);
        sleep(if first { delay } else { period }).await;
        loop {
            let patience = seconds(probe.timeout_seconds, 1);
            let late = || Err("context deadline exceeded".to_owned());
            let met = timeout(patience, self.ask(probe)).await.unwrap_or_else(|_| late());
            let answered = met.is_ok();
            met.err().into_iter().for_each(&failed);
            if let Some(result) = tally.note(answered, probe) {
                return result;
            }
            sleep(period).await;
        }
    }

    /// An error says what the probe met, as a kubelet would.
    async fn ask(&self, probe: &Probe) -> Result<(), String> {
        if let Some(get) = &probe.http_get {
            self.get(get).await
        } else if let Some(exec) = &probe.exec {
            self.exec(exec).await
        } else if let Some(tcp) = &probe.tcp_socket {
            let port = port(self.container, &tcp.port).ok_or("couldn't find port")?;
            self.network.connect(port).await.map(drop).map_err(|_| self.refused(port))
        } else {
            Err("gRPC is not stood in for".into())
        }
    }

    fn refused(&self, port: u16) -> String {
        format!("dial tcp {}:{port}: connect: connection refused", self.ip)
    }

    async fn get(&self, get: &HTTPGetAction) -> Result<(), String> {
        let port = port(self.container, &get.port).ok_or("couldn't find port")?;
        let address = self.network.address(port).map_err(|error| error.to_string())?;
        let https = get.scheme.as_deref() == Some("HTTPS");
        let scheme = if https { "https" } else { "http" };
        let path = get.path.as_deref().unwrap_or("/").trim_start_matches('/');
        let mut request = self.client.get(format!("{scheme}://{address}/{path}"));
        for header in get.http_headers.iter().flatten() {
            request = request.header(&header.name, &header.value);
        }
        let refused =
            |_| format!("Get \"{scheme}://{}:{port}/{path}\": {}", self.ip, self.refused(port));
        match request.send().await.map_err(refused)?.status().as_u16() {
            200..400 => Ok(()),
            status => Err(format!("HTTP probe failed with statuscode: {status}")),
        }
    }

    async fn exec(&self, exec: &ExecAction) -> Result<(), String> {
        let first = first_process(self.pid_file).ok_or("container not running")?;
        let mut command = Command::from(self.namespaces.in_container(self.sandbox, first));
        if self.identity.may_be_anybody {
            let groups: Vec<String> =
                self.identity.groups.iter().map(ToString::to_string).collect();
            let groups = if groups.is_empty() {
                "--clear-groups".into()
            } else {
                format!("--groups={}", groups.join(","))
            };
            command.args(["setpriv", "--reuid", &self.identity.user.to_string()]);
            command.args(["--regid", &self.identity.group.to_string(), &groups]);
        }
        command.args(exec.command.iter().flatten()).env_clear().envs(self.env);
        let done = command.stdin(Stdio::null()).kill_on_drop(true).output().await;
        let done = done.map_err(|error| error.to_string())?;
        let said = [done.stdout, done.stderr].concat();
        let said = || String::from_utf8_lossy(&said).into_owned();
        if done.status.success() { Ok(()) } else { Err(said()) }
    }
}

/// Named ports are those of the container.
pub(crate) fn port(container: &Container, port: &IntOrString) -> Option<u16> {
    match port {
        IntOrString::Int(number) => u16::try_from(*number).ok(),
        IntOrString::String(name) => {
            let mut ports = container.ports.iter().flatten();
            let named = ports.find(|port| port.name.as_deref() == Some(name))?;
            u16::try_from(named.container_port).ok()
        }
    }
}

fn seconds(given: Option<i32>, default: u64) -> Duration {
    let given = given.and_then(|seconds| u64::try_from(seconds).ok());
    Duration::from_secs(given.unwrap_or(default))
}

/// Answers of one kind in a row.
#[derive(Debug, Default)]
struct Tally {
    answer: bool,
    count: i32,
}

impl Tally {
    /// What the answers so far amount to, if the threshold is reached.
    fn note(&mut self, answer: bool, probe: &Probe) -> Option<bool> {
        self.count = if self.answer == answer { self.count.saturating_add(1) } else { 1 };
        self.answer = answer;
        let threshold = if answer {
            probe.success_threshold.unwrap_or(1)
        } else {
            probe.failure_threshold.unwrap_or(3)
        };
        (self.count >= threshold).then_some(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_answers_in_a_row_count_towards_a_threshold() {
        let probe =
            Probe { failure_threshold: Some(2), success_threshold: Some(1), ..Probe::default() };
        let mut tally = Tally::default();
        let answers = [false, true, false, false, false, true];
        let results = answers.map(|answer| tally.note(answer, &probe));
        let expected = [None, Some(true), None, Some(false), Some(false), Some(true)];
        assert_eq!(results, expected);
    }
}
