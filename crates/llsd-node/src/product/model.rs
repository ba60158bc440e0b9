//! A model server that echoes.

use super::on_node::Product;
use super::pod_program::PodProgram;

/// The model of the samples, and what it is called at the server.
const MODEL: &str = "llama3.2-8b";
pub const SERVED_MODEL: &str = "vllm/llama3.2-8b";

impl Product {
    /// Has `http://vllm:8000` answer in a namespace.
    pub async fn start_model(&self, namespace: &str) -> anyhow::Result<()> {
        self.start_models(namespace, "vllm", 8000, &[MODEL]).await
    }

    /// Has `http://NAME:PORT` answer with other models, as vLLM and as Ollama.
    pub async fn start_models(
        &self,
        namespace: &str,
        name: &str,
        port: u16,
        models: &[&str],
    ) -> anyhow::Result<()> {
        let source = include_str!("model_stub.py");
        let stub = PodProgram { name, source, port, arguments: models };
        self.start(namespace, &stub).await
    }
}
