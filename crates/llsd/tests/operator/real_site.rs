//! A cluster that runs real servers of one release: the stand-in for the kubelet starts their pods, and
//! a registry has an image with a base configuration in its labels.

use std::time::Duration;

use llsd_install::names;
use llsd_kubelet::{ImageStandIn, RunningKubelet};
use llsd_testkit::{RegistryServer, Release, TestImage};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use llsd_testbed::cluster_pool::ClusterPool;
use llsd_testbed::namespace::Namespace;
use llsd_testbed::operator::Operator;

pub struct RealSite {
    pub kubelet: RunningKubelet,
    /// The image's reference.
    pub image: String,
    pub cluster: ClusterPool,
    pub registry: RegistryServer,
}

impl RealSite {
    /// `None`, said loudly, where the release or the programs of a cluster cannot be had.
    pub async fn start_or_skip<const N: usize>(
        release: Release,
        labels: [(&str, String); N],
    ) -> Option<Self> {
        Self::with_images(release, labels, |_| None).await
    }

    /// The same with more images than the server's: what stands for one, by its reference.
    pub async fn with_images<const N: usize>(
        release: Release,
        labels: [(&str, String); N],
        others: impl Fn(&str) -> Option<ImageStandIn> + Send + Sync + 'static,
    ) -> Option<Self> {
        if !release.install_or_skip() {
            return None;
        }
        let server = ImageStandIn::server(&release.install().unwrap());
        let cluster = ClusterPool::get_or_skip().await?;
        let stand_in = move |image: &str| others(image).or_else(|| Some(server.clone()));
        let kubelet = RunningKubelet::start_or_skip(&cluster, stand_in).await?;
        let registry = RegistryServer::builder().start().await.unwrap();
        let image = push(&registry, release.version(), labels).await;
        let host = registry.host();
        let registries = format!("insecureHosts: ['{host}']\nprivateHosts: ['{host}']\n");
        let operators = Namespace { cluster: &cluster, name: names::NAMESPACE.to_owned() };
        operators.config_map(names::CONFIG_MAP, json!({"registries": registries})).await;
        Some(Self { kubelet, image, cluster, registry })
    }

    /// One replica of the operator, which asks the servers where the stand-in has them.
    pub fn operator(&self, more: &[&str]) -> Operator {
        let template = self.kubelet.server_url_template();
        let arguments = [&["--server-url-template", template.as_str()], more].concat();
        let kubeconfig = self.cluster.kubeconfig_for(&self.cluster.user, &[]);
        Operator::replica(&self.cluster, &kubeconfig, &arguments)
    }

    /// A new namespace.
    pub async fn namespace(&self, prefix: &str) -> Namespace<'_> {
        let name = self.cluster.namespace(prefix).await.unwrap();
        Namespace { cluster: &self.cluster, name }
    }
}

/// The pods that serve, by their uids.
pub async fn serving(namespace: &Namespace<'_>) -> Vec<Value> {
    let pods = namespace.list("Pod").await;
    let serving = pods.iter().filter(|pod| pod["metadata"]["labels"]["app"] == "llama-stack");
    serving.map(|pod| pod["metadata"]["uid"].clone()).collect()
}

/// Waits until the resource `real` is so; where it never is, its status and what its pods said are shown.
pub async fn until(
    namespace: &Namespace<'_>,
    kubelet: &RunningKubelet,
    patience: Duration,
    is_so: impl AsyncFn(&Value) -> bool,
) -> Value {
    let begun = Instant::now();
    loop {
        let now = namespace.get("LlamaStackDistribution", "real").await.unwrap_or_default();
        if is_so(&now).await {
            return now;
        }
        assert!(
            begun.elapsed() < patience,
            "{}\n{}",
            serde_json::to_string_pretty(&now["status"]).unwrap(),
            kubelet.logs(&namespace.name)
        );
        sleep(Duration::from_millis(500)).await;
    }
}

async fn push<const N: usize>(
    registry: &RegistryServer,
    release: &str,
    labels: [(&str, String); N],
) -> String {
    let image = TestImage::new().label("org.opencontainers.image.version", release);
    let image = labels.into_iter().fold(image, |image, (name, value)| image.label(name, value));
    registry.push("small", release, &image).await.unwrap();
    format!("{}/small:{release}", registry.host())
}
