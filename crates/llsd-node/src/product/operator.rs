//! The operator's own image, and the ways to install it.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::ensure;
use llsd_install::names::{CONFIG_MAP, NAMESPACE, OPERATOR};
use serde_json::json;

use super::on_node::{Product, repository};
use crate::{Node, REGISTRY, images};

const IMAGE: &str = "llsd-operator:demo";
/// What install files name unless they are told another one.
const RELEASED_IMAGE: &str = "docker.io/llamastack/llsd-operator:0.1.0";

/// Builds the operator's image as it is released, and pushes it: minutes the first time.
pub fn push_operator(node: &Node) -> anyhow::Result<String> {
    let pushed = format!("{}/{IMAGE}", node.registry());
    let mut build = Command::new(repository("scripts/image"));
    let status = build.args([&pushed, "--plain-http"]).status()?;
    ensure!(status.success(), "scripts/image: {status}");
    Ok(format!("{REGISTRY}/{IMAGE}"))
}

/// An operator of before, and its image as pods name it.
#[derive(Debug)]
pub struct OlderOperator {
    program: PathBuf,
    image: String,
}

impl OlderOperator {
    /// Builds one, and pushes its image: a quarter of an hour the first time.
    pub async fn push(node: &Node) -> anyhow::Result<Self> {
        let built =
            Command::new(repository("scripts/older-operator")).stderr(Stdio::inherit()).output()?;
        ensure!(built.status.success(), "scripts/older-operator: {}", built.status);
        let program = PathBuf::from(String::from_utf8(built.stdout)?.trim());
        let image = images::on_debian("llsd", &program)?;
        let image = node.push("llsd-operator", "older", &image).await?;
        Ok(Self { program, image })
    }

    /// Its install files for the whole cluster.
    pub fn manifests(&self) -> anyhow::Result<String> {
        let printed = Command::new(&self.program).arg("manifests").output()?;
        ensure!(printed.status.success(), "llsd manifests: {}", printed.status);
        // It had no flag for its image.
        Ok(String::from_utf8(printed.stdout)?.replace(RELEASED_IMAGE, &self.image))
    }
}

impl Product {
    /// The operator's image, as pods name it.
    pub fn operator_image(&self) -> &str {
        &self.operator
    }

    /// The install files for the whole cluster, as `llsd manifests` prints them.
    pub async fn install(&self) -> anyhow::Result<()> {
        let files = self.llsd(&["manifests", "--image", &self.operator])?;
        self.apply(NAMESPACE, &files).await?;
        self.configure(NAMESPACE).await
    }

    /// Changes a key of the operator's ConfigMap. It is watched.
    pub async fn set(&self, key: &str, value: &str) -> anyhow::Result<()> {
        let change = json!({"data": {key: value}}).to_string();
        let patch = ["patch", "configmap", CONFIG_MAP, "-n", NAMESPACE, "--type=merge", "-p"];
        self.kubectl(&[&patch[..], &[&change]].concat()).await.map(drop)
    }

    /// Says in the operator's ConfigMap where `starter` is, and waits until the operator runs.
    pub async fn configure(&self, namespace: &str) -> anyhow::Result<()> {
        let config = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": CONFIG_MAP, "namespace": namespace},
            "data": {
                "image-overrides": format!("starter: {}\n", self.server),
                "registries": format!("insecureHosts: ['{REGISTRY}']\n"),
            },
        });
        self.apply(namespace, &config.to_string()).await?;
        let operator = format!("deployment/{OPERATOR}");
        let rolled_out = ["rollout", "status", &operator, "-n", namespace, "--timeout=5m"];
        self.kubectl(&rolled_out).await.map(drop)
    }
}
