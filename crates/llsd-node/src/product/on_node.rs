//! A node with the images that were pushed to its registry, and what is asked of its cluster by kubectl, curl and llsd.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{bail, ensure};
use llsd_testkit::llsd_program;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::Node;

/// The kind with its version. By its short name kubectl takes the version that it saw first.
const KIND: &str = "llamastackdistributions.v1alpha2.llamastack.io";

/// A node, and the images that were pushed to its registry, as pods name them.
#[derive(Debug)]
pub struct Product {
    pub node: Node,
    pub(super) operator: String,
    pub(super) server: String,
}

impl Product {
    /// With the images of the operator and of `starter`, as pods name them.
    pub fn new(node: Node, operator: String, server: String) -> Self {
        Self { node, operator, server }
    }

    /// The image of `starter`, as pods name it.
    pub fn server_image(&self) -> &str {
        &self.server
    }

    /// The resource of this name once `holds`, or an error with the pods of the namespace.
    pub async fn until(
        &self,
        namespace: &str,
        name: &str,
        patience: Duration,
        mut holds: impl FnMut(&Value) -> bool,
    ) -> anyhow::Result<Value> {
        let begun = Instant::now();
        loop {
            let resource = self.resource(namespace, name).await?;
            if holds(&resource) {
                return Ok(resource);
            }
            if begun.elapsed() > patience {
                let pods =
                    self.kubectl(&["describe", "pods", "-n", namespace]).await.unwrap_or_default();
                bail!("not within {patience:?}: {:#}\n{pods}", resource["status"]);
            }
            sleep(Duration::from_secs(1)).await;
        }
    }

    pub async fn resource(&self, namespace: &str, name: &str) -> anyhow::Result<Value> {
        let found = self.kubectl(&["get", KIND, name, "-n", namespace, "-o", "json"]).await?;
        Ok(serde_json::from_str(&found)?)
    }

    /// curl in the first machine, from which pods and Services are reached.
    pub fn curl(&self, args: &[&str]) -> anyhow::Result<String> {
        self.node.run("curl", &[&["--silent", "--show-error", "--max-time", "60"], args].concat())
    }

    pub async fn apply(&self, namespace: &str, objects: &str) -> anyhow::Result<()> {
        let apply = ["apply", "--server-side", "-n", namespace, "-f", "-"];
        self.kubectl_with(&apply, Some(objects)).await.map(drop)
    }

    pub async fn wait(&self, namespace: &str, object: &str, condition: &str) -> anyhow::Result<()> {
        let wait = ["wait", object, "-n", namespace, &format!("--for={condition}"), "--timeout=5m"];
        self.kubectl(&wait).await.map(drop)
    }

    pub async fn kubectl(&self, args: &[&str]) -> anyhow::Result<String> {
        self.kubectl_with(args, None).await
    }

    pub(super) async fn kubectl_with(
        &self,
        args: &[&str],
        stdin: Option<&str>,
    ) -> anyhow::Result<String> {
        let done = self.node.kubectl(args, stdin).await?;
        ensure!(done.success(), "kubectl {}: {}", args.join(" "), done.stderr.trim());
        Ok(done.stdout)
    }

    /// What the command line prints, as a user of the node runs it.
    pub fn llsd(&self, args: &[&str]) -> anyhow::Result<String> {
        let mut llsd = Command::new(llsd_program()?);
        let done = llsd.args(args).env("KUBECONFIG", self.node.kubeconfig()).output()?;
        let said = String::from_utf8_lossy(&done.stderr);
        ensure!(done.status.success(), "llsd {}: {said}", args.join(" "));
        Ok(String::from_utf8(done.stdout)?)
    }
}

/// Where a file of the repository lies.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}
