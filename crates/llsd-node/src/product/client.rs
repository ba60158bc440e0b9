//! A client that asks a server for chat completions without a pause, and counts what fails.

use serde::Deserialize;

use super::model::SERVED_MODEL;
use super::on_node::Product;
use super::pod_program::PodProgram;

const NAME: &str = "client";
const PORT: u16 = 9000;

/// What came of the questions so far.
#[derive(Debug, Deserialize)]
pub struct Asked {
    pub asked: u64,
    /// What went wrong, a line each.
    pub failed: Vec<String>,
}

impl Product {
    /// Has a client ask the server at `url` from now on.
    pub async fn start_client(&self, namespace: &str, url: &str) -> anyhow::Result<()> {
        self.start_askers(namespace, url, 2).await
    }

    /// The same, with so many questions at once.
    pub async fn start_askers(
        &self,
        namespace: &str,
        url: &str,
        askers: u32,
    ) -> anyhow::Result<()> {
        let source = include_str!("client.py");
        let arguments = &[url, SERVED_MODEL, &askers.to_string()];
        self.start(namespace, &PodProgram { name: NAME, source, port: PORT, arguments }).await
    }

    /// Has a client ask over TLS, which trusts this authority alone.
    pub async fn start_trusting_client(
        &self,
        namespace: &str,
        url: &str,
        authority: &str,
    ) -> anyhow::Result<()> {
        let source = include_str!("client.py");
        let arguments = &[url, SERVED_MODEL, "2", authority];
        self.start(namespace, &PodProgram { name: NAME, source, port: PORT, arguments }).await
    }

    /// Has the client go.
    pub async fn stop_client(&self, namespace: &str) -> anyhow::Result<()> {
        let delete = ["delete", "deployment", NAME, "-n", namespace, "--cascade=foreground"];
        self.kubectl(&delete).await.map(drop)
    }

    /// What came of it so far.
    pub fn asked(&self, namespace: &str) -> anyhow::Result<Asked> {
        let url = format!("http://{NAME}.{namespace}.svc.cluster.local:{PORT}/");
        // kube-proxy learns a little later than others that the client is ready.
        let patient = ["--retry", "10", "--retry-connrefused", "--retry-delay", "1", &url];
        Ok(serde_json::from_str(&self.curl(&patient)?)?)
    }
}
