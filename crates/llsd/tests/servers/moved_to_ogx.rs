//! A resource that ran llama-stack 0.7.3 runs OGX 1.5.0 on the same volume: what OGX sees of what
//! users stored, what it sees of a copy, and that the way back leads to all of it.
//! `docs/from-llama-stack-to-ogx.md` says the same in words.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use llsd_testkit::{LlamaStackServer, OpenAiStub, Release};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::pod::stored::{files_below, upload};
use crate::pod::{Pod, Secrets};

const RELEASES: (Release, Release) = (Release::V0_7_3, Release::Ogx1_5_0);
const MODEL: &str = "vllm/llama3.2-8b";
/// Ten times what an idle machine needs.
const PATIENCE: Duration = Duration::from_mins(3);

/// Ways to what users stored, by what it is.
type Stored = BTreeMap<&'static str, String>;

#[tokio::test(flavor = "multi_thread")]
async fn ogx_starts_beside_the_old_state_and_the_way_back_leads_to_all_of_it() {
    let test = "ogx_starts_beside_the_old_state_and_the_way_back_leads_to_all_of_it";
    let (before, after) = RELEASES;
    if ![before, after].iter().all(|release| release.install_or_skip(test)) {
        return;
    }
    let site = Site::new().await;

    let mut server = site.started(before, None).await;
    let stored = store(&server).await;
    assert_eq!(seen(&server, &stored).await, stored.keys().copied().collect::<Vec<_>>());
    server.stop().unwrap();
    let old = site.volume.path().join(".llama/distributions/small");
    let files = files_below(&old);
    assert!(!files.is_empty());

    // OGX has a folder of its own, where nothing is yet.
    let mut server = site.started(after, None).await;
    assert_eq!(seen(&server, &stored).await, [""; 0]);
    store(&server).await;
    server.stop().unwrap();
    assert_eq!(files_below(&old), files);

    // With copies of the databases it goes on where llama-stack stopped, if not with everything.
    let copy = site.volume.path().join(".ogx/distributions/kept");
    fs::create_dir_all(&copy).unwrap();
    for database in files.keys().filter(|file| file.parent() == Some(&old)) {
        fs::copy(database, copy.join(database.file_name().unwrap())).unwrap();
    }
    let mut server = site.started(after, Some(&copy)).await;
    let survivors = ["completion", "conversation", "file", "file's content", "items", "response"];
    assert_eq!(seen(&server, &stored).await, survivors);
    assert_eq!(talk(&server, &stored["conversation"]).await, 200);
    server.stop().unwrap();
    assert_eq!(files_below(&old), files);

    let server = site.started(before, None).await;
    assert_eq!(seen(&server, &stored).await, stored.keys().copied().collect::<Vec<_>>());
    assert_eq!(talk(&server, &stored["conversation"]).await, 200);
    let search = format!("{}/search", stored["vector store"]);
    let found = server.post_json(&search, &json!({"query": "hello"})).await.unwrap();
    assert!(found.body.to_string().contains("hello from the notes"), "{}", found.body);
}

/// Why the copy: OGX works on the tables of llama-stack too, and changes them.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_copy_llama_stack_no_longer_goes_on_with_conversations() {
    let test = "without_a_copy_llama_stack_no_longer_goes_on_with_conversations";
    let (before, after) = RELEASES;
    if !Release::is_thorough_or_left_out(test)
        || ![before, after].iter().all(|release| release.install_or_skip(test))
    {
        return;
    }
    let site = Site::new().await;
    let mut server = site.started(before, None).await;
    let stored = store(&server).await;
    server.stop().unwrap();
    let old = site.volume.path().join(".llama/distributions/small");
    let mut server = site.started(after, Some(&old)).await;
    assert!(seen(&server, &stored).await.contains(&"conversation"));
    assert_eq!(talk(&server, &stored["conversation"]).await, 200);
    server.stop().unwrap();
    let server = site.started(before, None).await;
    assert_eq!(seen(&server, &stored).await, stored.keys().copied().collect::<Vec<_>>());
    assert_eq!(talk(&server, &stored["conversation"]).await, 500);
}

/// A volume, and the model server behind all that use it.
struct Site {
    volume: TempDir,
    stub: OpenAiStub,
}

impl Site {
    async fn new() -> Self {
        let stub = OpenAiStub::start(&["llama3.2-8b", "embed"]).await.unwrap();
        Self { volume: tempfile::tempdir().unwrap(), stub }
    }

    /// The server of the resource, with its state where it has it by itself or in `state`.
    async fn started(&self, release: Release, state: Option<&Path>) -> LlamaStackServer {
        let files = self.volume.path().join(".llama/distributions/small/files");
        let variables = state.map_or(json!([]), |state| {
            json!([
                {"name": "SQLITE_STORE_DIR", "value": state},
                // Where a file lies is in the database, and a place elsewhere is refused.
                {"name": "FILES_STORAGE_DIR", "value": files},
            ])
        });
        let spec = json!({
            "providers": {
                "inference": {"provider": "vllm", "endpoint": self.stub.url()},
                "responses": {"provider": "builtin"},
                "toolRuntime": {"provider": "file-search"},
                "fileProcessors": {"provider": "pypdf"},
                "batches": {"provider": "reference"},
            },
            "resources": {"models": [
                "llama3.2-8b",
                {"name": "embed", "modelType": "embedding", "embeddingDimension": 8},
            ]},
            "workload": {
                "storage": {"mountPath": "/data/llama"},
                "overrides": {"env": variables},
            },
        });
        let pod = Pod::planned(release, spec, &Secrets::new());
        let boot = pod.boot(pod.config().to_owned()).with_home(self.volume.path());
        let mut server = release.boot(boot).unwrap();
        server.wait_healthy(PATIENCE).await.unwrap();
        server
    }
}

/// One of everything that users can store, each found again by its path.
async fn store(server: &LlamaStackServer) -> Stored {
    let file = format!("/v1/files/{}", upload(server, "hello from the notes").await);
    let embedded = json!({
        "name": "notes", "embedding_model": "vllm/embed", "embedding_dimension": 8,
    });
    let vector_store = made(server, "/v1/vector_stores", &embedded, "id").await;
    let attached = json!({"file_id": last(&file)});
    let attached = server.post_json(&format!("{vector_store}/files"), &attached).await.unwrap();
    assert_eq!(attached.body["status"], "completed", "{}", attached.body);
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
        tokio::time::sleep(Duration::from_millis(500)).await;
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
    let answer = server.post_json(path, body).await.unwrap();
    assert_eq!(answer.status, 200, "{path}: {}\n{}", answer.body, server.log());
    format!("{path}/{}", answer.body[id].as_str().unwrap())
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap()
}

/// What of it the server has.
async fn seen(server: &LlamaStackServer, stored: &Stored) -> Vec<&'static str> {
    let mut seen = Vec::new();
    for (what, path) in stored {
        let (list, id) = path.rsplit_once('/').unwrap();
        // A list where there is one: asked for some things that are not there, the server answers,
        // writes a traceback for seconds and breaks the connection.
        let is_listed = !list.starts_with("/v1/conversations") && !path.ends_with("/content");
        let answer = server.get_json(if is_listed { list } else { path }).await;
        let answer = answer.unwrap_or_else(|error| panic!("{error:#}\n{}", server.log()));
        let body = answer.body.to_string();
        if answer.status == 200 && (!is_listed || body.contains(id)) {
            seen.push(*what);
        }
    }
    seen
}

/// The status of one more question in a conversation.
async fn talk(server: &LlamaStackServer, conversation: &str) -> u16 {
    let of = last(conversation);
    let question = json!({"model": MODEL, "input": "and now?", "conversation": of});
    let answer = server.post_json("/v1/responses", &question).await;
    answer.unwrap_or_else(|error| panic!("{error:#}\n{}", server.log())).status
}
