//! A resource that ran llama-stack 0.7.3 runs OGX 1.5.0 on the same volume and the same databases:
//! what OGX sees of what users stored, what it sees of a copy, and where the way back leads.
//! `docs/from-llama-stack-to-ogx.md` says the same in words.

use std::fs;
use std::path::Path;
use std::time::Duration;

use llsd_testkit::{LlamaStackServer, OpenAiStub, Postgres, Redis, Release};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::pod::stored::{files_below, finds_the_notes, seen, store, talk};
use crate::pod::{Pod, Secrets};

const RELEASES: (Release, Release) = (Release::V0_7_3, Release::OGX_1_5_0);
/// Ten times what an idle machine needs.
const PATIENCE: Duration = Duration::from_mins(3);

#[tokio::test(flavor = "multi_thread")]
async fn ogx_starts_beside_the_old_state_and_the_way_back_leads_to_all_of_it() {
    let (before, after) = RELEASES;
    if !can_be_moved() {
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
    finds_the_notes(&server, &stored).await;
}

/// Why the copy: OGX works on the tables of llama-stack too, and changes them.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_copy_llama_stack_no_longer_goes_on_with_conversations() {
    let (before, after) = RELEASES;
    if !can_be_moved() {
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

#[tokio::test(flavor = "multi_thread")]
async fn in_postgres_ogx_goes_on_and_llama_stack_no_longer_does() {
    const PASSWORD: &str = "p@ss word";
    if !can_be_moved() {
        return;
    }
    let builder = Postgres::builder("llama", PASSWORD, "stack");
    let Some(postgres) = builder.start_or_skip().await else { return };
    let dsn = format!("postgresql://llama:p%40ss%20word@127.0.0.1:{}/stack", postgres.port());
    let storage = json!({"sql": {
        "type": "postgres", "connectionString": {"name": "pg", "key": "dsn"},
    }});
    let secrets = Secrets::from([(("pg", "dsn"), dsn)]);
    let mut site = Site { storage, secrets, ..Site::new().await };
    let (before, after) = RELEASES;
    let mut server = site.started(before, None).await;
    let stored = store(&server).await;
    server.stop().unwrap();

    // A file's content is on the volume, in the old folder.
    let survivors = ["completion", "conversation", "file", "items", "response"];
    let mut server = site.started(after, None).await;
    assert_eq!(seen(&server, &stored).await, survivors);
    server.stop().unwrap();
    let files = site.volume.path().join(".llama/distributions/small/files");
    site.variables = json!([{"name": "FILES_STORAGE_DIR", "value": files}]);
    let mut server = site.started(after, None).await;
    let survivors = ["completion", "conversation", "file", "file's content", "items", "response"];
    assert_eq!(seen(&server, &stored).await, survivors);
    assert_eq!(talk(&server, &stored["conversation"]).await, 200);
    server.stop().unwrap();

    let server = site.started(before, None).await;
    assert_eq!(seen(&server, &stored).await, stored.keys().copied().collect::<Vec<_>>());
    assert_eq!(talk(&server, &stored["conversation"]).await, 500);
    finds_the_notes(&server, &stored).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_redis_both_have_the_vector_stores_of_either() {
    if !can_be_moved() {
        return;
    }
    let Some(redis) = Redis::builder().start_or_skip().await else { return };
    let endpoint = format!("redis://127.0.0.1:{}", redis.port());
    let storage = json!({"kv": {"type": "redis", "endpoint": endpoint}});
    let site = Site { storage, ..Site::new().await };
    let (before, after) = RELEASES;
    let mut server = site.started(before, None).await;
    let stored = store(&server).await;
    let at_first = seen(&server, &stored).await;
    server.stop().unwrap();

    // All else is in SQL, on the volume.
    let mut server = site.started(after, None).await;
    assert_eq!(seen(&server, &stored).await, ["vector store"]);
    finds_the_notes(&server, &stored).await;
    let of_ogx = store(&server).await;
    server.stop().unwrap();

    let server = site.started(before, None).await;
    assert_eq!(seen(&server, &stored).await, at_first);
    finds_the_notes(&server, &stored).await;
    finds_the_notes(&server, &of_ogx).await;
    // It answers the first questions with errors when its store is Redis.
    let mut answered = 0;
    for _ in 0..30 {
        answered = talk(&server, &stored["conversation"]).await;
        if answered == 200 {
            break;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(answered, 200, "{}", server.log());
}

/// Whether both servers are there, and time for them: that a volume goes on under OGX, `state_is_kept` shows.
fn can_be_moved() -> bool {
    let (before, after) = RELEASES;
    Release::is_thorough_or_left_out()
        && [before, after].iter().all(|release| release.install_or_skip())
}

/// A volume, and the model server behind all that use it.
struct Site {
    volume: TempDir,
    stub: OpenAiStub,
    /// `spec.storage`, and the Secrets that it names.
    storage: Value,
    secrets: Secrets,
    /// `spec.workload.overrides.env`.
    variables: Value,
}

impl Site {
    async fn new() -> Self {
        let stub = OpenAiStub::start(&["llama3.2-8b", "embed"]).await.unwrap();
        let volume = tempfile::tempdir().unwrap();
        let (storage, variables) = (Value::Null, json!([]));
        Self { volume, stub, storage, secrets: Secrets::new(), variables }
    }

    /// The server of the resource, with its state where it has it by itself or in `state`.
    async fn started(&self, release: Release, state: Option<&Path>) -> LlamaStackServer {
        let files = self.volume.path().join(".llama/distributions/small/files");
        let variables = state.map_or(self.variables.clone(), |state| {
            json!([
                {"name": "SQLITE_STORE_DIR", "value": state},
                // Where a file lies is in the database, and a place elsewhere is refused.
                {"name": "FILES_STORAGE_DIR", "value": files},
            ])
        });
        let mut spec = json!({
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
        if self.storage.is_object() {
            spec["storage"] = self.storage.clone();
        }
        let pod = Pod::planned(release, spec, &self.secrets);
        let boot = pod.boot(pod.config().to_owned()).with_home(self.volume.path());
        let mut server = release.boot(boot).unwrap();
        server.wait_healthy(PATIENCE).await.unwrap();
        server
    }
}
