//! What users register through the API of a running server, and what it lists.

use std::{fmt::Debug, future::Future, time::Duration};

use llsd_testkit::{Answer, LlamaStackServer, Release};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

/// While the tables in Postgres are being made, requests are answered with errors.
const WARM_UP: Duration = Duration::from_mins(3);
const ANSWER: Duration = Duration::from_secs(8);

/// What users made through the API of a running server.
pub struct Users {
    vector_store: String,
    shield: bool,
    model: bool,
    tool_group: bool,
}

impl Users {
    pub async fn register(release: Release, server: &LlamaStackServer) -> Self {
        let mut users = Self::register_vector_store(server).await;
        if release.is_ogx() {
            return users;
        }
        let shield = json!({
            "shield_id": "own", "provider_id": "llama-guard", "provider_shield_id": "vllm/listed",
        });
        ok(|| server.post_json("/v1/shields", &shield)).await;
        users.shield = true;
        if release < Release::V0_7_3 {
            let model = json!({ "model_id": "own", "provider_id": "vllm" });
            ok(|| server.post_json("/v1/models", &model)).await;
            let tools = json!({
                "toolgroup_id": "mcp::own", "provider_id": "mcp",
                "mcp_endpoint": { "uri": "http://127.0.0.1:9/own" },
            });
            ok(|| server.post_json("/v1/toolgroups", &tools)).await;
            (users.model, users.tool_group) = (true, true);
        }
        users
    }

    pub async fn register_vector_store(server: &LlamaStackServer) -> Self {
        let store = json!({
            "name": "notes", "provider_id": "faiss",
            "embedding_model": "vllm/embed", "embedding_dimension": 8,
        });
        let made = ok(|| server.post_json("/v1/vector_stores", &store)).await;
        let vector_store = made["id"].as_str().unwrap().to_owned();
        // Not what the stub embeds everything as: a distance of nothing is a score without end.
        let chunk = json!({
            "content": "hello", "chunk_id": "one", "metadata": { "document_id": "one" },
            "chunk_metadata": { "document_id": "one", "chunk_id": "one" },
            "embedding": vec![0.2; 8], "embedding_model": "vllm/embed", "embedding_dimension": 8,
        });
        let chunks = json!({ "vector_store_id": vector_store, "chunks": [chunk] });
        ok(|| server.post_json("/v1/vector-io/insert", &chunks)).await;
        Self { vector_store, shield: false, model: false, tool_group: false }
    }

    pub async fn still_have_everything(&self, server: &LlamaStackServer) {
        let question = json!({ "query": "hello" });
        let search = format!("/v1/vector_stores/{}/search", self.vector_store);
        // An error inside a search is answered as a search that found nothing.
        let found = timeout(WARM_UP, async {
            loop {
                let page = ok(|| server.post_json(&search, &question)).await;
                if page["data"] != json!([]) {
                    return page;
                }
                sleep(Duration::from_millis(300)).await;
            }
        });
        let found = found.await.expect("what a user stored is found");
        assert_eq!(found["data"][0]["content"][0]["text"], "hello", "{found}");
        if self.shield {
            assert_eq!(shields(server).await["own"], "vllm/listed");
        }
        if self.model {
            assert!(models(server).await["vllm/own"].is_object());
        }
        if self.tool_group {
            assert_eq!(tool_groups(server).await["mcp::own"], "http://127.0.0.1:9/own");
        }
    }
}

/// Id -> metadata.
pub async fn models(server: &LlamaStackServer) -> Value {
    let listed = ok(|| server.get_json("/v1/models")).await;
    by_id(&listed, |model| (&model["id"], &model["custom_metadata"]))
}

/// Id -> the model behind it.
pub async fn shields(server: &LlamaStackServer) -> Value {
    let listed = ok(|| server.get_json("/v1/shields")).await;
    by_id(&listed, |shield| (&shield["identifier"], &shield["provider_resource_id"]))
}

/// Id -> endpoint.
pub async fn tool_groups(server: &LlamaStackServer) -> Value {
    let listed = ok(|| server.get_json("/v1/toolgroups")).await;
    by_id(&listed, |group| (&group["identifier"], &group["mcp_endpoint"]["uri"]))
}

fn by_id(listed: &Value, entry: impl Fn(&Value) -> (&Value, &Value)) -> Value {
    let entries = listed["data"].as_array().unwrap().iter().map(entry);
    entries.map(|(id, value)| (id.as_str().unwrap().to_owned(), value.clone())).collect()
}

/// The body of the first answer that is no error.
pub async fn ok<E: Debug, F: Future<Output = Result<Answer, E>>>(ask: impl Fn() -> F) -> Value {
    let mut last = None;
    let answered = timeout(WARM_UP, async {
        loop {
            match timeout(ANSWER, ask()).await {
                Ok(Ok(answer)) if answer.status < 300 => return answer.body,
                refused => last = Some(refused),
            }
            sleep(Duration::from_millis(300)).await;
        }
    });
    let answered = answered.await;
    answered.unwrap_or_else(|_| panic!("{last:?}"))
}
