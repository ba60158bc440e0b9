//! A model server in OpenAI's dialect, in this process and on loopback. It always answers the same, under an id of its
//! own each time, and remembers who asked for what.

use std::{
    convert::Infallible,
    net::Ipv4Addr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Json, Router,
    body::Body,
    extract::{Request, State},
    http::{StatusCode, header::AUTHORIZATION, header::CONTENT_TYPE},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use futures::stream::{self, StreamExt};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle, time::sleep};

/// The whole of every chat completion.
const REPLY: [&str; 2] = ["stub", " reply"];
/// How long every embedding is.
const DIMENSION: usize = 8;

/// A request that came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StubRequest {
    pub method: String,
    pub path: String,
    /// Whether it carried the key; always true when none is asked for.
    pub authorised: bool,
    /// The key that it carried.
    pub key: Option<String>,
}

/// A running stub: `/health`, `/v1/models`, `/v1/chat/completions` (also as a stream),
/// `/v1/completions` and `/v1/embeddings`. Gone when dropped.
#[derive(Debug)]
pub struct OpenAiStub {
    url: String,
    shared: Arc<StubState>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct StubState {
    models: Vec<String>,
    key: Option<String>,
    /// Before each part of a stream.
    pause: Duration,
    requests: Mutex<Vec<StubRequest>>,
}

impl OpenAiStub {
    /// A stub that serves `models` to everybody.
    pub async fn start(models: &[&str]) -> anyhow::Result<Self> {
        Self::launch(models, None, Duration::ZERO).await
    }

    /// The same, but each part of a stream lets one wait.
    pub async fn start_slow(models: &[&str], pause: Duration) -> anyhow::Result<Self> {
        Self::launch(models, None, pause).await
    }

    /// A stub that answers 401 below `/v1` to everybody without `Authorization: Bearer <key>`.
    pub async fn start_with_key(models: &[&str], key: &str) -> anyhow::Result<Self> {
        Self::launch(models, Some(key.to_owned()), Duration::ZERO).await
    }

    async fn launch(models: &[&str], key: Option<String>, pause: Duration) -> anyhow::Result<Self> {
        let models = models.iter().map(ToString::to_string).collect();
        let shared = Arc::new(StubState { models, key, pause, requests: Mutex::default() });
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let app = Router::new()
            .route("/health", get(async || Json(json!({}))))
            .route("/v1/models", get(list_models))
            .route("/v1/chat/completions", post(chat))
            .route("/v1/completions", post(complete))
            .route("/v1/embeddings", post(embed))
            .layer(middleware::from_fn_with_state(shared.clone(), check_and_remember))
            .with_state(shared.clone());
        let task = tokio::spawn(async move {
            // Ends only with the task.
            let _ = axum::serve(listener, app).await;
        });
        Ok(Self { url, shared, task })
    }

    /// `http://127.0.0.1:<port>`, without `/v1`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What came in so far.
    pub fn requests(&self) -> Vec<StubRequest> {
        self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for OpenAiStub {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn check_and_remember(
    State(shared): State<Arc<StubState>>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path().to_owned();
    let shown = request.headers().get(AUTHORIZATION).and_then(|shown| shown.to_str().ok());
    let shown = shown.and_then(|shown| shown.strip_prefix("Bearer ")).map(str::to_owned);
    let authorised = shared.key.is_none() || shared.key == shown;
    let remembered = StubRequest {
        method: request.method().to_string(),
        path: path.clone(),
        authorised,
        key: shown,
    };
    shared.requests.lock().unwrap_or_else(PoisonError::into_inner).push(remembered);
    if !authorised && path.starts_with("/v1/") {
        let error = json!({ "message": "wrong key", "type": "invalid_request_error" });
        return (StatusCode::UNAUTHORIZED, Json(json!({ "error": error }))).into_response();
    }
    next.run(request).await
}

async fn list_models(State(shared): State<Arc<StubState>>) -> Json<Value> {
    let model = |id| json!({ "id": id, "object": "model", "created": 0, "owned_by": "stub" });
    let models: Vec<Value> = shared.models.iter().map(model).collect();
    Json(json!({ "object": "list", "data": models }))
}

async fn chat(State(shared): State<Arc<StubState>>, Json(asked): Json<Value>) -> Response {
    let id = id_of_its_own("chatcmpl");
    let part = |object: &str, choice: Value| {
        json!({
            "id": id, "object": object, "created": 0,
            "model": asked["model"], "choices": [choice],
        })
    };
    if asked["stream"] != json!(true) {
        let message = json!({ "role": "assistant", "content": REPLY.concat() });
        let choice = json!({ "index": 0, "message": message, "finish_reason": "stop" });
        let mut whole = part("chat.completion", choice);
        whole["usage"] = json!({ "prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3 });
        return Json(whole).into_response();
    }
    let said = REPLY.map(|text| (json!({ "role": "assistant", "content": text }), Value::Null));
    let event = |(delta, reason): (Value, Value)| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
        format!("data: {}\n\n", part("chat.completion.chunk", choice))
    };
    let mut events: Vec<String> =
        said.into_iter().chain([(json!({}), json!("stop"))]).map(event).collect();
    events.push("data: [DONE]\n\n".to_owned());
    let pause = shared.pause;
    let events = stream::iter(events).then(move |event| async move {
        sleep(pause).await;
        Ok::<_, Infallible>(event)
    });
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(events)).into_response()
}

async fn complete(Json(asked): Json<Value>) -> Json<Value> {
    let choice = json!({
        "index": 0, "text": REPLY.concat(), "finish_reason": "stop", "logprobs": null,
    });
    Json(json!({
        "id": id_of_its_own("cmpl"), "object": "text_completion", "created": 0,
        "model": asked["model"], "choices": [choice],
        "usage": { "prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3 },
    }))
}

/// Llama-stack 0.2 stores completions by their ids, and refuses a second one of an id.
fn id_of_its_own(prefix: &str) -> String {
    format!("{prefix}-{:016x}", fastrand::u64(..))
}

async fn embed(Json(asked): Json<Value>) -> Json<Value> {
    // One text, or a list of them.
    let count = asked["input"].as_array().map_or(1, Vec::len);
    let embedding =
        |index| json!({ "object": "embedding", "index": index, "embedding": vec![0.1; DIMENSION] });
    let embeddings: Vec<Value> = (0..count).map(embedding).collect();
    Json(json!({
        "object": "list", "model": asked["model"], "data": embeddings,
        "usage": { "prompt_tokens": 1, "total_tokens": 1 },
    }))
}
