//! An Ollama that has the models which a test gives it, in this process and on loopback. It lists them,
//! and can do nothing else.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{Json, Router, extract::State, routing::get};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

type Models = Arc<Mutex<Vec<String>>>;

/// A running stub: `/api/tags`, `/api/version` and `/v1/models`. Gone when dropped.
#[derive(Debug)]
pub struct OllamaStub {
    models: Models,
    task: JoinHandle<()>,
}

impl OllamaStub {
    /// Without a model, at an address that may be known before.
    pub async fn start(address: SocketAddr) -> anyhow::Result<Self> {
        let models = Models::default();
        let listener = TcpListener::bind(address).await?;
        let app = Router::new()
            .route("/api/tags", get(tags))
            .route("/api/version", get(async || Json(json!({ "version": "0.9.0" }))))
            .route("/v1/models", get(list))
            .with_state(models.clone());
        let task = tokio::spawn(async move {
            // Ends only with the task.
            let _ = axum::serve(listener, app).await;
        });
        Ok(Self { models, task })
    }

    /// As `ollama pull` does.
    pub fn pull(&self, model: &str) {
        self.models.lock().unwrap_or_else(PoisonError::into_inner).push(model.to_owned());
    }
}

impl Drop for OllamaStub {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn each(models: &Models, entry: impl Fn(&str) -> Value) -> Vec<Value> {
    let models = models.lock().unwrap_or_else(PoisonError::into_inner);
    models.iter().map(|model| entry(model)).collect()
}

async fn tags(State(models): State<Models>) -> Json<Value> {
    let entry = |name: &str| json!({ "name": name, "model": name, "size": 1, "digest": "0" });
    Json(json!({ "models": each(&models, entry) }))
}

async fn list(State(models): State<Models>) -> Json<Value> {
    let entry = |id: &str| json!({ "id": id, "object": "model", "created": 0, "owned_by": "stub" });
    Json(json!({ "object": "list", "data": each(&models, entry) }))
}
