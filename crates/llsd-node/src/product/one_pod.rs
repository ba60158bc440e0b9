//! A Deployment of one pod on the first machine, behind a Service of its name. The pod is as the Pod Security Standard
//! `restricted` asks.

use serde_json::{Value, json};

use super::on_node::Product;

/// What the pod runs.
pub(super) struct OnePod<'a> {
    pub(super) name: &'a str,
    /// It is ready when it listens there.
    pub(super) port: u16,
    /// A container with what is its own: `image`, `command`, `env`, `volumeMounts`.
    pub(super) container: Value,
    pub(super) volumes: Value,
}

impl OnePod<'_> {
    /// The Service and the Deployment.
    fn objects(self) -> [Value; 2] {
        let Self { name, port, mut container, volumes } = self;
        container["name"] = json!("program");
        container["readinessProbe"] = json!({"tcpSocket": {"port": port}, "periodSeconds": 1});
        container["securityContext"] = json!({
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "runAsNonRoot": true,
            "runAsUser": 1001,
            "seccompProfile": {"type": "RuntimeDefault"},
        });
        let labels = json!({"app": name});
        [
            json!({
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
                "spec": {"selector": labels, "ports": [{"port": port}]},
            }),
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
                "spec": {
                    "selector": {"matchLabels": labels},
                    "template": {
                        "metadata": {"labels": labels},
                        "spec": {
                            "nodeSelector": {"kubernetes.io/hostname": "node-1"},
                            "terminationGracePeriodSeconds": 1,
                            "containers": [container],
                            "volumes": volumes,
                        },
                    },
                },
            }),
        ]
    }
}

impl Product {
    /// Starts a pod with what it mounts, and waits until it is ready.
    pub(super) async fn start_pod(
        &self,
        namespace: &str,
        pod: OnePod<'_>,
        mounted: &[Value],
    ) -> anyhow::Result<()> {
        let deployment = format!("deployment/{}", pod.name);
        let objects = [mounted, &pod.objects()[..]].concat();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        self.apply(namespace, &list.to_string()).await?;
        self.wait(namespace, &deployment, "condition=Available").await
    }
}
