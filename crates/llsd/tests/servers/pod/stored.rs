//! What users leave with a server: one of everything that can be stored, how it is found again, and
//! what then lies on the volume.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use llsd_testkit::{Answer, LlamaStackServer};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

const MODEL: &str = "vllm/llama3.2-8b";

/// With Redis as its store, 0.7.3 hangs on the first requests after a start, or answers them with
/// errors, ten times and more.
const ATTEMPTS: usize = 30;
const ANSWER: Duration = Duration::from_secs(10);

/// Ways to what users stored, by what it is.
pub type Stored = BTreeMap<&'static str, String>;

/// Uploads a text file; gives its id.
pub async fn upload(server: &LlamaStackServer, text: &str) -> String {
    let boundary = "llsd-boundary";
    let body = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nassistants\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\
         Content-Type: text/plain\r\n\r\n{text}\r\n--{boundary}--\r\n"
    );
    let form = format!("multipart/form-data; boundary={boundary}");
    let mut last = String::new();
    for _ in 0..ATTEMPTS {
        let request = server.request(http::Method::POST, "/v1/files").header("Content-Type", &form);
        // A server that has just written a traceback breaks the next connection.
        match timeout(ANSWER, request.body(body.clone()).send()).await {
            Ok(Ok(answer)) if answer.status() == 200 => {
                let text = answer.text().await.unwrap();
                let body: Value = serde_json::from_str(&text).unwrap();
                return body["id"].as_str().unwrap().to_owned();
            }
            Ok(Ok(answer)) => last = answer.text().await.unwrap_or_default(),
            Ok(Err(error)) => last = format!("{error:#}"),
            Err(hung) => last = hung.to_string(),
        }
        sleep(Duration::from_millis(300)).await;
    }
    panic!("{last}\n{}", server.log());
}

/// Every file below a folder, with its content.
pub fn files_below(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    files
}

/// One of everything that users can store, each found again by its path.
pub async fn store(server: &LlamaStackServer) -> Stored {
    let file = format!("/v1/files/{}", upload(server, "hello from the notes").await);
    let embedded = json!({
        "name": "notes", "embedding_model": "vllm/embed", "embedding_dimension": 8,
    });
    let vector_store = made(server, "/v1/vector_stores", &embedded, "id").await;
    let attached = json!({"file_id": last(&file)});
    let attached = made(server, &format!("{vector_store}/files"), &attached, "id").await;
    let attached = asked(server, &attached).await.body;
    assert_eq!(attached["status"], "completed", "{attached}");
    let conversation = made(server, "/v1/conversations", &json!({}), "id").await;
    let of = last(&conversation);
    let question = json!({"model": MODEL, "input": "hello", "conversation": of});
    let response = made(server, "/v1/responses", &question, "id").await;
    let prompt = json!({"prompt": "Hello {{ name }}", "variables": ["name"]});
    let prompt = made(server, "/v1/prompts", &prompt, "prompt_id").await;
    let question = json!({"model": MODEL, "messages": [{"role": "user", "content": "hello"}]});
    let completion = made(server, "/v1/chat/completions", &question, "id").await;
    let batch = json!({
        "input_file_id": last(&file),
        "endpoint": "/v1/chat/completions",
        "completion_window": "24h",
    });
    let batch = made(server, "/v1/batches", &batch, "id").await;
    // Completions are written in the background.
    for _ in 0..60 {
        let listed = server.get_json("/v1/chat/completions").await.unwrap();
        if listed.body.to_string().contains(last(&completion)) {
            break;
        }
        sleep(Duration::from_millis(500)).await;
    }
    Stored::from([
        ("file's content", format!("{file}/content")),
        ("file", file),
        ("vector store", vector_store),
        ("items", format!("{conversation}/items")),
        ("conversation", conversation),
        ("response", response),
        ("prompt", prompt),
        ("completion", completion),
        ("batch", batch),
    ])
}

async fn made(server: &LlamaStackServer, path: &str, body: &Value, id: &str) -> String {
    let mut last = None;
    for _ in 0..ATTEMPTS {
        match timeout(ANSWER, server.post_json(path, body)).await {
            Ok(Ok(answer)) if answer.status == 200 => {
                return format!("{path}/{}", answer.body[id].as_str().unwrap());
            }
            refused => last = Some(refused),
        }
        sleep(Duration::from_millis(300)).await;
    }
    panic!("{path}: {last:?}\n{}", server.log());
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap()
}

/// What of it the server has.
pub async fn seen(server: &LlamaStackServer, stored: &Stored) -> Vec<&'static str> {
    let mut seen = Vec::new();
    for (what, path) in stored {
        let (list, id) = path.rsplit_once('/').unwrap();
        // A list where there is one: asked for some things that are not there, the server answers,
        // writes a traceback for seconds and breaks the connection.
        let is_listed = !list.starts_with("/v1/conversations") && !path.ends_with("/content");
        let answer = asked(server, if is_listed { list } else { path }).await;
        let body = answer.body.to_string();
        if answer.status == 200 && (!is_listed || body.contains(id)) {
            seen.push(*what);
        }
    }
    seen
}

/// Asserts that the vector store is there with what was put into it.
pub async fn finds_the_notes(server: &LlamaStackServer, stored: &Stored) {
    let (search, question) =
        (format!("{}/search", stored["vector store"]), json!({"query": "hello"}));
    let mut last = None;
    for _ in 0..ATTEMPTS {
        match timeout(ANSWER, server.post_json(&search, &question)).await {
            Ok(Ok(found)) if found.body.to_string().contains("hello from the notes") => return,
            other => last = Some(other),
        }
        sleep(Duration::from_millis(300)).await;
    }
    panic!("{last:?}\n{}", server.log());
}

/// An answer that is no accident.
async fn asked(server: &LlamaStackServer, path: &str) -> Answer {
    let mut last = None;
    for _ in 0..ATTEMPTS {
        match timeout(ANSWER, server.get_json(path)).await {
            Ok(Ok(answer)) if answer.status < 500 => return answer,
            refused => last = Some(refused),
        }
        sleep(Duration::from_millis(300)).await;
    }
    panic!("{path}: {last:?}\n{}", server.log());
}

/// The status of one more question in a conversation.
pub async fn talk(server: &LlamaStackServer, conversation: &str) -> u16 {
    let of = last(conversation);
    let question = json!({"model": MODEL, "input": "and now?", "conversation": of});
    for _ in 0..ATTEMPTS {
        if let Ok(Ok(answer)) = timeout(ANSWER, server.post_json("/v1/responses", &question)).await
        {
            return answer.status;
        }
    }
    panic!("no answer\n{}", server.log());
}
