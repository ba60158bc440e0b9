//! Traefik, which serves Ingresses and the routes of the Gateway API, on the port that docs/tasks/exposure.md names.

use std::path::PathBuf;

use llsd_testkit::GoProgram;
use serde_json::{Value, json};

use super::add_on::push_program;
use super::on_node::Product;
use super::one_pod::OnePod;
use crate::programs::go;

const NAME: &str = "traefik";
const PORT: u16 = 443;
/// The module with the definitions of the Gateway API, which Traefik's own requires.
const GATEWAY_API: &str = "sigs.k8s.io/gateway-api";

impl Product {
    /// Starts it in a namespace, for Ingresses of the class `traefik` and, once the Gateway API is there, for Gateways.
    pub async fn start_traefik(&self, namespace: &str) -> anyhow::Result<()> {
        let image = push_program(&self.node, program()).await?;
        let container = json!({
            "image": image,
            "args": [
                format!("--entrypoints.web.address=:{PORT}"),
                "--entrypoints.web.http.tls=true",
                "--providers.kubernetesingress=true",
                "--providers.kubernetesgateway=true",
                "--global.checknewversion=false",
                "--log.level=INFO",
            ],
        });
        let pod = OnePod { name: NAME, port: PORT, container, volumes: json!([]) };
        self.start_pod(namespace, pod, &what_it_needs(namespace)).await
    }

    /// Installs the Gateway API with the class `traefik`, and has Traefik find it.
    pub async fn install_gateway_api(&self, namespace: &str) -> anyhow::Result<()> {
        let source = tokio::task::spawn_blocking(|| program().source_of(GATEWAY_API)).await??;
        self.apply_folder(source.join("config/crd/standard")).await?;
        let class = json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass",
            "metadata": {"name": NAME},
            "spec": {"controllerName": "traefik.io/gateway-controller"},
        });
        self.apply(namespace, &class.to_string()).await?;
        // It would look again by itself, less and less often.
        let traefik = format!("deployment/{NAME}");
        self.kubectl(&["rollout", "restart", &traefik, "-n", namespace]).await?;
        let rolled_out = ["rollout", "status", &traefik, "-n", namespace, "--timeout=3m"];
        self.kubectl(&rolled_out).await.map(drop)
    }

    /// The flags by which curl asks a host through Traefik.
    pub async fn through_traefik(
        &self,
        namespace: &str,
        host: &str,
    ) -> anyhow::Result<[String; 2]> {
        let address = ["get", "service", NAME, "-n", namespace, "-o", "jsonpath={.spec.clusterIP}"];
        let address = self.kubectl(&address).await?;
        Ok(["--resolve".to_owned(), format!("{host}:{PORT}:{address}")])
    }

    async fn apply_folder(&self, folder: PathBuf) -> anyhow::Result<()> {
        let folder = folder.display().to_string();
        self.kubectl(&["apply", "--server-side", "-f", &folder]).await?;
        self.kubectl(&["wait", "-f", &folder, "--for=condition=Established"]).await.map(drop)
    }
}

fn program() -> GoProgram {
    go("traefik", NAME, "github.com/traefik/traefik/v3/cmd/traefik")
}

/// The class of its Ingresses, and what it may read and write.
fn what_it_needs(namespace: &str) -> [Value; 3] {
    let rule = |group: &str, resources: &[&str], verbs: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
    let read = ["get", "list", "watch"];
    let seen = ["services", "secrets", "configmaps", "namespaces", "nodes", "pods"];
    [
        json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "IngressClass",
            "metadata": {"name": NAME},
            "spec": {"controller": "traefik.io/ingress-controller"},
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": NAME},
            "rules": [
                rule("", &seen, &read),
                rule("discovery.k8s.io", &["endpointslices"], &read),
                rule("networking.k8s.io", &["ingresses", "ingressclasses"], &read),
                rule("networking.k8s.io", &["ingresses/status"], &["update"]),
                rule("gateway.networking.k8s.io", &["*"], &[&read[..], &["update"]].concat()),
            ],
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": NAME},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME,
            },
            "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": namespace}],
        }),
    ]
}
