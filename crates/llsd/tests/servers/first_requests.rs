//! No request of a new server process is lost, the first ones included. Up to OGX 1.1 a server opens
//! connections in an event loop that is closed when it serves; the start program mends that.

use std::time::{Duration, Instant};

use llsd_testkit::{LlamaStackServer, OpenAiStub, Redis, Release};
use reqwest::Method;
use serde_json::{Value, json};

use crate::image::Image;
use crate::pod::Pod;
use crate::servers_boot::{KEY, MODEL, PATIENCE, models, secrets, served_id, vllm};

/// Answers take less than one second on an idle machine; a server that has failed stands still for half a
/// minute while it writes down why.
const ANSWER: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn the_first_requests_of_every_process_are_answered_with_redis_as_the_store() {
    for release in Release::under_test().unwrap() {
        if !release.install_or_skip() {
            return;
        }
        let workers: &[usize] = if release < Release::V0_3_5 { &[1] } else { &[1, 2] };
        for count in workers {
            let Some(redis) = Redis::builder().start_or_skip().await else { return };
            let endpoint = format!("redis://127.0.0.1:{}", redis.port());
            let kv = json!({"kv": {"type": "redis", "endpoint": endpoint}});
            answers_at_once(release, *count, kv).await;
            let keys = redis.command(None, &["KEYS", "*"]).unwrap();
            assert!(keys.contains("vector_store"), "{release}: the store is not Redis: {keys}");
        }
    }
}

/// OGX keeps its connections to backends, so there it was every store.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_requests_of_every_process_are_answered_with_sqlite_as_the_store() {
    for release in Release::under_test().unwrap() {
        if !release.install_or_skip() {
            return;
        }
        answers_at_once(release, 1, json!({"kv": {"type": "sqlite"}})).await;
    }
}

async fn answers_at_once(release: Release, workers: usize, storage: Value) {
    let stub = OpenAiStub::start_with_key(&[MODEL, "embed"], KEY).await.unwrap();
    let spec = json!({
        "providers": {"inference": vllm(&stub)},
        "resources": {"models": models()},
        "storage": storage,
        "workload": {"workers": workers},
    });
    let pod = Pod::planned(release, spec, &secrets(KEY));
    let mut server = release.boot(pod.boot(pod.config().to_owned())).unwrap();
    server.wait_healthy(PATIENCE).await.unwrap();

    let before = if release <= Release::V0_2_24 { "/v1/openai" } else { "" };
    let question = json!({
        "model": served_id(release, MODEL),
        "messages": [{"role": "user", "content": "hello"}],
    });
    let store = json!({
        "name": "notes", "provider_id": "faiss",
        "embedding_model": served_id(release, "embed"), "embedding_dimension": 8,
    });
    // Connections are spread over the workers, so that each gets some.
    for round in 0..6 * workers {
        for (path, body) in [("/v1/vector_stores", &store), ("/v1/chat/completions", &question)] {
            let (status, took) = post_alone(&server, &format!("{before}{path}"), body).await;
            let which = format!("{release}, {workers} workers, round {round}: {path}");
            assert_eq!(status, 200, "{which}: {}", server.log());
            assert!(took < ANSWER, "{which}: {took:?}");
        }
    }
}

/// The status of the answer to a request on a connection of its own, and how long it took.
async fn post_alone(server: &LlamaStackServer, path: &str, body: &Value) -> (u16, Duration) {
    let begun = Instant::now();
    let request = server.request(Method::POST, path).header("connection", "close");
    let request = request.header("content-type", "application/json").body(body.to_string());
    let status = request.send().await.map_or(0, |answer| answer.status().as_u16());
    (status, begun.elapsed())
}

/// In the place of the server: a client that is asked in two event loops says in which place it was
/// made.
const ASKS_IN_TWO_LOOPS: &str = "
import asyncio, importlib, sys

for place in ('llama_stack.core.storage', 'llama_stack.providers.utils', 'ogx.core.storage'):
    try:
        redis = importlib.import_module(place + '.kvstore.redis.redis')
    except ImportError:
        continue
    client = redis.Redis.from_url('redis://redis')
    async def number():
        return client.number
    print(asyncio.run(number()), asyncio.run(number()), *sys.argv[1:])
";

const CLIENT: &str = "
class Redis:
    made = 0
    @classmethod
    def from_url(cls, url):
        client = cls()
        cls.made += 1
        client.number = cls.made
        return client
";

/// In the place of the server's store of tables: it takes them for made once it has begun to make them.
const TABLES: &str = "
import asyncio

class SqlAlchemySqlStoreImpl:
    engine, tables = None, None

    async def _ensure_engine(self):
        if self.engine is None:
            self.engine = 'begun'
            await asyncio.sleep(0.05)
            self.tables = 'made'

    async def insert(self):
        await self._ensure_engine()
        return self.tables
";

/// In the place of the server: stores two rows at once.
const STORES_AT_ONCE: &str = "
import asyncio
from llama_stack.core.storage.sqlstore.sqlalchemy_sqlstore import SqlAlchemySqlStoreImpl

async def stored():
    store = SqlAlchemySqlStoreImpl()
    return await asyncio.gather(store.insert(), store.insert())

print(*asyncio.run(stored()))
";

#[test]
fn rows_that_are_stored_at_once_find_their_table() {
    let Some(image) = Image::installed("0.7.3") else { return };
    let module = "fake/llama_stack/core/storage/sqlstore/sqlalchemy_sqlstore.py";
    image.write(module, TABLES);
    image.write("fake/uvicorn/__main__.py", STORES_AT_ONCE);
    let redis = "storage: {backends: {kv: {type: kv_redis, host: localhost, port: 1}}}";
    let call = image.call(redis, &[("LLS_PORT", "8400"), ("LLS_HOST", "::1")]);
    assert!(call.starts_with("made made"), "{call}");
}

#[test]
fn only_a_server_that_needs_it_gets_a_client_of_redis_for_each_event_loop() {
    let redis = "storage: {backends: {kv: {type: kv_redis, host: localhost, port: 1}}}";
    let sqlite = "storage: {backends: {kv: {type: kv_sqlite, db_path: '${env.HOME}/kv.db'}}}";
    let cases = [
        ("0.2.24", "metadata_store: {type: redis, host: localhost, port: 1}", "1 2"),
        ("0.3.5", redis, "1 2"),
        ("0.7.3", redis, "1 2"),
        ("0.7.3+vendor.1", redis, "1 2"),
        ("0.7.3", sqlite, "1 1"),
        ("ogx 1.0.4", redis, "1 2"),
        ("ogx 1.1.3", sqlite, "1 2"),
        ("ogx 1.2.0", redis, "1 1"),
    ];
    for (version, config, clients) in cases {
        let Some(image) = Image::installed(version) else { return };
        let place = match version {
            ogx if ogx.starts_with("ogx") => "ogx/core/storage",
            "0.2.24" | "0.3.5" => "llama_stack/providers/utils",
            _ => "llama_stack/core/storage",
        };
        image.write(&format!("fake/{place}/kvstore/redis/redis.py"), CLIENT);
        image.write("fake/uvicorn/__main__.py", ASKS_IN_TWO_LOOPS);
        image.write("fake/llama_stack/core/server/server.py", ASKS_IN_TWO_LOOPS);
        let call = image.call(config, &[("LLS_PORT", "8400"), ("LLS_HOST", "::1")]);
        assert!(call.starts_with(&format!("{clients} ")), "{version}: {call}");
        assert!(call.contains("--port 8400"), "{version}: {call}");
    }
}
