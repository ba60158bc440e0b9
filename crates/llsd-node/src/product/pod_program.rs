//! A Python program of ours in a pod on the first machine, behind a Service of its name. It runs in the server's image,
//! which has Python.

use serde_json::json;

use super::on_node::Product;
use super::one_pod::OnePod;

pub(super) struct PodProgram<'a> {
    pub(super) name: &'a str,
    pub(super) source: &'a str,
    /// Its first argument, and where it listens.
    pub(super) port: u16,
    pub(super) arguments: &'a [&'a str],
}

impl Product {
    /// Starts a program, and waits until it is ready.
    pub(super) async fn start(
        &self,
        namespace: &str,
        program: &PodProgram<'_>,
    ) -> anyhow::Result<()> {
        let PodProgram { name, source, port, arguments } = *program;
        let port_argument = port.to_string();
        let command = [&["python3", "/program/main.py", &port_argument], arguments].concat();
        let container = json!({
            "image": self.server,
            "command": command,
            "volumeMounts": [{"name": "program", "mountPath": "/program"}],
        });
        let source = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
            "data": {"main.py": source},
        });
        let volumes = json!([{"name": "program", "configMap": {"name": name}}]);
        self.start_pod(namespace, OnePod { name, port, container, volumes }, &[source]).await
    }
}
