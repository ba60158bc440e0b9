//! KEDA, which scales by what happens outside of the pods that it scales, also to none and back. Here pods of a visitor
//! are what happens: one pod is wanted for each.

use serde_json::{Value, json};

use super::add_on::push_program;
use super::on_node::Product;
use crate::REGISTRY;
use crate::images::PAUSE;
use crate::programs::go;

/// The images in its install files.
const OPERATOR: &str = "ghcr.io/kedacore/keda:main";
const ADAPTER: &str = "ghcr.io/kedacore/keda-metrics-apiserver:main";

const ROTATION: &str = "--enable-cert-rotation=true";
/// Its webhooks, which check ScaledObjects, are not installed.
const FLAGS: &str = "--enable-cert-rotation=true
        - --enable-webhook-patching=false";

const VISITOR: &str = "visitor";

impl Product {
    /// Installs its operator and its metrics adapter from its own files.
    pub async fn install_keda(&self) -> anyhow::Result<()> {
        let operator = go("keda", "keda", "github.com/kedacore/keda/v2/cmd/operator");
        let adapter = go("keda", "keda-adapter", "github.com/kedacore/keda/v2/cmd/adapter");
        let operator_image = push_program(&self.node, operator.clone()).await?;
        let adapter_image = push_program(&self.node, adapter).await?;
        let images = [(OPERATOR, operator_image.as_str()), (ADAPTER, adapter_image.as_str())];
        let replaced = [&images[..], &[(ROTATION, FLAGS)]].concat();
        self.install_from_source(operator, "config/minimal", &replaced).await
    }

    /// Waits until the API server passes requests on to its adapter.
    pub async fn keda_answers(&self) -> anyhow::Result<()> {
        self.wait("keda", "deployment/keda-operator", "condition=Available").await?;
        let api = "apiservice/v1beta1.external.metrics.k8s.io";
        self.wait("keda", api, "condition=Available").await
    }

    /// Has it scale `target`, up to `most` pods.
    pub async fn scale_by_visitors(
        &self,
        namespace: &str,
        target: &Value,
        most: u32,
    ) -> anyhow::Result<()> {
        let scaled = json!({
            "apiVersion": "keda.sh/v1alpha1",
            "kind": "ScaledObject",
            "metadata": {"name": target["name"]},
            "spec": {
                "scaleTargetRef": target,
                "minReplicaCount": 0,
                "maxReplicaCount": most,
                "pollingInterval": 5,
                "cooldownPeriod": 10,
                // Otherwise a pod that is too much stays for five minutes.
                "advanced": {"horizontalPodAutoscalerConfig": {
                    "behavior": {"scaleDown": {"stabilizationWindowSeconds": 5}},
                }},
                "triggers": [{
                    "type": "kubernetes-workload",
                    "metadata": {"podSelector": format!("app={VISITOR}"), "value": "1"},
                }],
            },
        });
        self.apply(namespace, &scaled.to_string()).await
    }

    /// So many visitors from now on.
    pub async fn visitors(&self, namespace: &str, count: u32) -> anyhow::Result<()> {
        let labels = json!({"app": VISITOR});
        let visitors = json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": VISITOR},
            "spec": {
                "replicas": count,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {
                        "terminationGracePeriodSeconds": 1,
                        "containers": [{
                            "name": "waits",
                            "image": format!("{REGISTRY}/{PAUSE}"),
                            "securityContext": {
                                "allowPrivilegeEscalation": false,
                                "capabilities": {"drop": ["ALL"]},
                                "runAsNonRoot": true,
                                "seccompProfile": {"type": "RuntimeDefault"},
                            },
                        }],
                    },
                },
            },
        });
        self.apply(namespace, &visitors.to_string()).await
    }
}
