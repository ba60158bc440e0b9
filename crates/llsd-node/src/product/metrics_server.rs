//! metrics-server, which tells a HorizontalPodAutoscaler how much CPU pods use.

use super::add_on::push_program;
use super::on_node::Product;
use crate::programs::go;

/// The image in its install files.
const IMAGE: &str = "gcr.io/k8s-staging-metrics-server/metrics-server:master";
const RESOLUTION: &str = "--metric-resolution=15s";
/// The shortest resolution that it takes, kubelets have to answer within less, and who signed what they show.
const FLAGS: &str = "--metric-resolution=10s
        - --kubelet-request-timeout=5s
        - --kubelet-certificate-authority=/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";

impl Product {
    /// Installs it from its own files, and waits until the API server passes requests on to it.
    pub async fn install_metrics_server(&self) -> anyhow::Result<()> {
        let package = "sigs.k8s.io/metrics-server/cmd/metrics-server";
        let program = go("metrics-server", "metrics-server", package);
        let image = push_program(&self.node, program.clone()).await?;
        let replaced = [(IMAGE, image.as_str()), (RESOLUTION, FLAGS)];
        self.install_from_source(program, "manifests/base", &replaced).await?;
        let api = "apiservice/v1beta1.metrics.k8s.io";
        self.wait("kube-system", api, "condition=Available").await
    }
}
