//! A real Prometheus on loopback, Debian's: it reads the figures of what it is told to, evaluates rules and answers
//! queries. Gone without leftovers when dropped.

use std::{fs, process::Command};

use anyhow::{Context, bail};
use reqwest::Client;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    builder::free_ports,
    loopback_client,
    process::{Component, Watchdog},
    programs, readiness, skip,
};

const PACKAGE: &str = "prometheus";

/// Checks rules, or tests of rules, with Prometheus' own tool: what it said, and whether it is content. `None`,
/// said loudly, where it cannot be had. Files are by name, in a folder of their own.
pub fn promtool(arguments: &[&str], files: &[(&str, &str)]) -> Option<(bool, String)> {
    let program = match programs::locate("promtool", PACKAGE) {
        Ok(program) => program,
        Err(why) => {
            skip::skip(&why.to_string());
            return None;
        }
    };
    let folder = tempfile::tempdir().expect("a folder for files");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("a file of the test");
    }
    let done = Command::new(program).args(arguments).current_dir(folder.path()).output();
    let done = done.expect("promtool runs");
    let said = [done.stdout, done.stderr].concat();
    Some((done.status.success(), String::from_utf8_lossy(&said).into_owned()))
}

/// A running Prometheus on `127.0.0.1`.
#[derive(Debug)]
pub struct Prometheus {
    component: Component,
    _watchdog: Watchdog,
    address: String,
    client: Client,
    // The last field: dropped when nothing writes there any more.
    _dir: TempDir,
}

impl Prometheus {
    /// Reads the figures of `targets` every second as those of pods in `namespace`, and evaluates the groups of
    /// rules. `None`, said loudly, where Prometheus cannot be had.
    pub async fn start_or_skip(
        namespace: &str,
        targets: &[String],
        groups: &Value,
    ) -> Option<Self> {
        skip::started_or_skipped(Self::start(namespace, targets, groups).await)
    }

    async fn start(namespace: &str, targets: &[String], groups: &Value) -> anyhow::Result<Self> {
        let program = programs::locate("prometheus", PACKAGE)?;
        let temporary = tempfile::Builder::new().prefix("llsd-prometheus-").tempdir()?;
        let dir = temporary.path();
        // JSON is YAML.
        let config = json!({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yaml"],
            "scrape_configs": [{
                "job_name": "llsd",
                "static_configs": [{"targets": targets, "labels": {"namespace": namespace}}],
            }],
        });
        fs::write(dir.join("prometheus.yaml"), config.to_string())?;
        fs::write(dir.join("rules.yaml"), json!({"groups": groups}).to_string())?;
        let [port] = free_ports()?;
        let address = format!("127.0.0.1:{port}");
        let flags = [
            "--config.file=prometheus.yaml".to_owned(),
            "--storage.tsdb.path=data".to_owned(),
            format!("--web.listen-address={address}"),
        ];
        let watchdog = Watchdog::guard(dir)?;
        let component = Component::spawn("prometheus", &program, &flags, dir, &watchdog)?;
        let client = loopback_client::client(None)?;
        let mut started = Self { component, _watchdog: watchdog, address, client, _dir: temporary };
        let Self { component, client, address, .. } = &mut started;
        let answers = async || {
            let answer = client.get(format!("http://{address}/-/ready")).send().await?;
            answer.error_for_status().map(drop).context("not ready")
        };
        readiness::wait("prometheus", &mut [component], answers).await?;
        Ok(started)
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What a query finds: a list of `{metric, value}`.
    pub async fn query(&self, expression: &str) -> anyhow::Result<Vec<Value>> {
        let answer = self.get("query", &[("query", expression)]).await?;
        Ok(answer["result"].as_array().cloned().unwrap_or_default())
    }

    /// What a query finds over a time, in seconds since 1970: a list of `{metric, values}`.
    pub async fn range(
        &self,
        expression: &str,
        start: f64,
        end: f64,
        step: f64,
    ) -> anyhow::Result<Vec<Value>> {
        let [start, end, step] = [start, end, step].map(|time| format!("{time:.3}"));
        let query = [("query", expression), ("start", &start), ("end", &end), ("step", &step)];
        let answer = self.get("query_range", &query).await?;
        Ok(answer["result"].as_array().cloned().unwrap_or_default())
    }

    /// Every rule as it is evaluated now: its `name`, `health`, `state` and `lastError`.
    pub async fn rules(&self) -> anyhow::Result<Vec<Value>> {
        let answer = self.get("rules", &[]).await?;
        let groups = answer["groups"].as_array().cloned().unwrap_or_default();
        let rules = groups.iter().filter_map(|group| group["rules"].as_array());
        Ok(rules.flatten().cloned().collect())
    }

    async fn get(&self, what: &str, query: &[(&str, &str)]) -> anyhow::Result<Value> {
        let mut url = reqwest::Url::parse(&format!("http://{}/api/v1/{what}", self.address))?;
        url.query_pairs_mut().extend_pairs(query);
        let answer = self.client.get(url).send().await?.text().await?;
        let mut answer: Value = serde_json::from_str(&answer)?;
        if answer["status"] != "success" {
            bail!("{}; {}", answer["error"], self.component.end_of_log());
        }
        Ok(answer["data"].take())
    }
}
