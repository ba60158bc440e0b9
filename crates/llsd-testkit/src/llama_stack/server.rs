//! A llama-stack server that was booted.

use std::{
    path::{Path, PathBuf},
    process::ExitStatus,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::Value;
use tempfile::TempDir;
use tokio::time::sleep;

use crate::process::{Component, Watchdog};

/// How long a server may take to end after it was asked to; the kubelet's default.
const GRACE: Duration = Duration::from_secs(30);
/// An answer that takes longer is asked for again.
const ANSWER: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(100);

/// What a server said to a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub status: u16,
    /// A string, when it is not JSON.
    pub body: Value,
}

/// A running server on loopback. Killed, with everything that it started, when dropped.
#[derive(Debug)]
pub struct LlamaStackServer {
    component: Component,
    watchdog: Watchdog,
    client: Client,
    url: String,
    home: PathBuf,
    // The last field: dropped when nothing writes there any more.
    _private: TempDir,
}

impl LlamaStackServer {
    pub(super) fn new(
        component: Component,
        watchdog: Watchdog,
        client: Client,
        url: String,
        home: PathBuf,
        private: TempDir,
    ) -> Self {
        Self { component, watchdog, client, url, home, _private: private }
    }

    /// `http://127.0.0.1:<port>`, or https.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The home folder that it was given.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The id of its process.
    pub fn id(&self) -> u32 {
        self.component.id()
    }

    /// Waits until `/v1/health` answers. An error, with the end of the log, as soon as the process
    /// has ended, and when `timeout` is over.
    pub async fn wait_healthy(&mut self, timeout: Duration) -> anyhow::Result<()> {
        let started = Instant::now();
        loop {
            self.component.check_alive()?;
            let answer = self.client.get(format!("{}/v1/health", self.url)).timeout(ANSWER);
            let why = match answer.send().await {
                Ok(answer) if answer.status().is_success() => return Ok(()),
                Ok(answer) => format!("it answers {}", answer.status()),
                Err(error) => format!("{:#}", anyhow::Error::from(error)),
            };
            if started.elapsed() > timeout {
                bail!(
                    "llama-stack is not healthy after {} s: {why}; {}",
                    timeout.as_secs(),
                    self.component.end_of_log()
                );
            }
            sleep(PAUSE).await;
        }
    }

    /// Waits until the process ends by itself, as it does with a configuration that it refuses.
    pub async fn wait_exit(&mut self, timeout: Duration) -> anyhow::Result<ExitStatus> {
        let started = Instant::now();
        loop {
            if let Some(status) = self.exit_status()? {
                return Ok(status);
            }
            if started.elapsed() > timeout {
                let log = self.component.end_of_log();
                bail!("llama-stack still runs after {} s; {log}", timeout.as_secs());
            }
            sleep(PAUSE).await;
        }
    }

    /// How the process ended, if it did.
    pub fn exit_status(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.component.ended()?)
    }

    /// Ends it as the kubelet does: a TERM, and a KILL when that does not help.
    pub fn stop(&mut self) -> anyhow::Result<ExitStatus> {
        self.component.stop("TERM", GRACE)
    }

    /// All it said so far; still there after it ended.
    pub fn log(&self) -> String {
        self.component.log()
    }

    /// A request to `path`, to be completed and sent by the caller.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }

    /// GET, with any status.
    pub async fn get_json(&self, path: &str) -> anyhow::Result<Answer> {
        answer(self.request(Method::GET, path)).await
    }

    /// POST of a JSON body, with any status.
    pub async fn post_json(&self, path: &str, body: &Value) -> anyhow::Result<Answer> {
        let request = self.request(Method::POST, path);
        answer(request.header("content-type", "application/json").body(body.to_string())).await
    }
}

async fn answer(request: RequestBuilder) -> anyhow::Result<Answer> {
    let answer = request.send().await?;
    let status = answer.status().as_u16();
    let text = answer.text().await.context("the answer broke off")?;
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Ok(Answer { status, body })
}

impl Drop for LlamaStackServer {
    fn drop(&mut self) {
        self.component.kill();
        // Workers outlive a parent that is killed.
        self.watchdog.clear_away();
    }
}
