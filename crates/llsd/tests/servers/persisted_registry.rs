//! A real server keeps what was registered in its metadata store, and refuses to start when its
//! configuration says otherwise. Started by the start program it always starts, with what the
//! configuration says now, and what users registered is still there.
//!
//! The newest release is tested with sqlite; with `LLSD_TEST_SERVERS`, `all` or for example
//! `0.4.7,0.7.3`, the releases that it names, and each with Redis and Postgres too.

use std::{fs, time::Duration};

use futures::future::join_all;
use llsd_plan::objects::start_program;
use llsd_testkit::{Boot, LlamaStackServer, OpenAiStub, Postgres, Redis, Release};
use serde_json::json;
use tempfile::TempDir;

use super::registered_by_users::{Users, models, ok, shields, tool_groups};

const SERVER_OF_LLAMA_STACK: &str = include_str!("launch/server.yaml");
const SERVER_OF_OGX: &str = include_str!("launch/server-ogx.yaml");
const FIRST: &str = include_str!("launch/step-1-first.yaml");
const CHANGED: &str = include_str!("launch/step-2-changed.yaml");
const REMOVED: &str = include_str!("launch/step-3-removed.yaml");

/// Before, the layout of the configuration differs.
const FIRST_WITH_STEPS: Release = Release::V0_4_7;
/// Ten times what an idle machine needs.
const PATIENCE: Duration = Duration::from_secs(150);
const PASSWORD: &str = "s3cr3t pass'word";

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_configuration_starts_and_users_lose_nothing() {
    for (release, store) in combinations() {
        println!("{release} with {store:?}");
        let Some(site) = Site::new(release, store).await else { return };
        changed_and_removed(&site).await;
    }
}

async fn changed_and_removed(site: &Site) {
    let server = site.server();
    let first = site.started(server, FIRST).await;
    let models = models(&first).await;
    assert_eq!(models["vllm/a"]["context_length"], 1, "{models}");
    assert!(models["vllm/listed"].is_object(), "the backend lists it: {models}");
    if site.has_shields() {
        assert_eq!(shields(&first).await, json!({ "guard": "vllm/a" }));
    }
    let users = Users::register(site.release, &first).await;
    stop(first);

    let refusal = site.refused(server, CHANGED).await;
    assert!(refusal.contains("already exists"), "nothing to cure: {refusal}");

    let changed = site.started(server, CHANGED).await;
    let models = self::models(&changed).await;
    assert_eq!(models["vllm/a"]["context_length"], 2, "{models}");
    assert_eq!(models["vllm/listed"]["context_length"], 3, "{models}");
    if site.has_shields() {
        assert_eq!(shields(&changed).await["guard"], "vllm/listed");
    }
    if site.release < Release::V0_7_3 {
        let endpoint = tool_groups(&changed).await["mcp::notes"].clone();
        assert_eq!(endpoint, "http://127.0.0.1:9/two");
    }
    users.still_have_everything(&changed).await;
    stop(changed);

    // Twice: the second time there is nothing left to forget but what is there anew.
    for workers in [1, 2] {
        let removed = site.started_with(server, REMOVED, workers).await;
        let models = self::models(&removed).await;
        assert!(models["vllm/a"].is_null(), "{models}");
        assert_eq!(models["vllm/listed"]["context_length"], 3, "{models}");
        if site.has_shields() {
            assert_eq!(shields(&removed).await, json!({ "own": "vllm/listed" }));
        }
        users.still_have_everything(&removed).await;
        assert!(!removed.log().contains(PASSWORD), "{}", removed.log());
        stop(removed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_group_follows_its_new_provider() {
    const BRAVE: &str = include_str!("launch/tools-brave.yaml");
    const TAVILY: &str = include_str!("launch/tools-tavily.yaml");
    let Some(site) = Site::new(Release::V0_7_3, Store::Sqlite).await else { return };
    stop(site.started(BRAVE, "").await);

    // The server takes the record away before it stumbles: this one goes back afterwards.
    let store = site.folder.path().join("kvstore.db");
    let records = fs::read(&store).unwrap();
    let refusal = site.refused(TAVILY, "").await;
    assert!(refusal.contains("KeyError: 'brave'"), "nothing to cure: {refusal}");
    fs::write(&store, records).unwrap();

    let server = site.started(TAVILY, "").await;
    let tools = ok(|| server.get_json("/v1/tools")).await;
    assert_eq!(tools["data"][0]["toolgroup_id"], "builtin::websearch", "{tools}");
}

/// What stands in the store was registered without the program, so nothing says where it is from.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_an_earlier_operator_filled_is_taken_over() {
    if !Release::is_thorough_or_left_out() {
        return;
    }
    for release in releases_with_steps().into_iter().filter(|release| !release.is_ogx()) {
        let Some(site) = Site::new(release, Store::Sqlite).await else { return };
        let mut first = site.boot(site.plain(site.server(), FIRST));
        first.wait_healthy(PATIENCE).await.unwrap();
        let users = Users::register_vector_store(&first).await;
        stop(first);

        // The default shield of many a base, which this file does not register.
        let default = "safety: {default_shield_id: llama-guard}\n\
            registered_resources: {models: [{model_id: embed, provider_id: vllm, \
            model_type: embedding, metadata: {embedding_dimension: 8}}]}\n";
        let refusal = site.refused(site.server(), default).await;
        assert!(refusal.contains("default_shield_id 'llama-guard' not found"), "{refusal}");
        let server = site.started(site.server(), default).await;
        assert_eq!(shields(&server).await, json!({}));
        users.still_have_everything(&server).await;
        stop(server);

        let changed = site.started(site.server(), CHANGED).await;
        assert_eq!(models(&changed).await["vllm/a"]["context_length"], 2);
        users.still_have_everything(&changed).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_that_start_at_once_share_their_store_with_those_of_before() {
    if !Release::is_thorough_or_left_out() {
        return;
    }
    for (release, store) in combinations() {
        if store == Store::Sqlite {
            continue; // only one pod at a time has the volume
        }
        println!("{release} with {store:?}");
        let Some(site) = Site::new(release, store).await else { return };
        let pods = async |step| join_all((0..3).map(|_| site.started(site.server(), step))).await;
        let before = pods(FIRST).await;
        let users = Users::register_vector_store(&before[0]).await;
        let after = pods(CHANGED).await;
        for pod in &after {
            assert_eq!(models(pod).await["vllm/a"]["context_length"], 2);
            if site.has_shields() {
                assert_eq!(shields(pod).await["guard"], "vllm/listed");
            }
        }
        users.still_have_everything(&after[0]).await;
        drop(before);
    }
}

/// These releases never refuse, but up to 0.2 they served what they had stored first.
#[tokio::test(flavor = "multi_thread")]
async fn an_older_release_serves_what_changed() {
    if !Release::is_thorough_or_left_out() {
        return;
    }
    for release in Release::under_test().unwrap() {
        if release >= FIRST_WITH_STEPS {
            continue;
        }
        let config = if release < Release::V0_3_5 {
            include_str!("launch/start-0.2.yaml")
        } else {
            include_str!("launch/start-0.3.yaml")
        };
        let Some(site) = Site::new(release, Store::Sqlite).await else { return };
        for length in ["1", "2"] {
            let config = config.replace("context_length: 1", &format!("context_length: {length}"));
            let server = site.started_alone(&config).await;
            let listed = ok(|| server.get_json("/v1/models")).await;
            let length_served = listed["data"][0]["metadata"]["context_length"].to_string();
            assert_eq!(length_served, length, "{release}: {listed}");
            stop(server);
        }
    }
}

/// Releases and the stores that each is tested with.
fn combinations() -> Vec<(Release, Store)> {
    let all = [Store::Sqlite, Store::Redis, Store::Postgres];
    let stores = if Release::is_thorough_test() { &all[..] } else { &all[..1] };
    let releases = releases_with_steps().into_iter();
    releases.flat_map(|release| stores.iter().map(move |store| (release, *store))).collect()
}

/// The releases under test that can read the steps of `launch/`.
fn releases_with_steps() -> Vec<Release> {
    let mut releases = Release::under_test().unwrap();
    releases.retain(|release| *release >= FIRST_WITH_STEPS);
    releases
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Store {
    Sqlite,
    Redis,
    Postgres,
}

/// A release, a store that outlives its servers, and the model server behind them.
struct Site {
    release: Release,
    store: &'static str,
    env: Vec<(&'static str, String)>,
    folder: TempDir,
    _stub: OpenAiStub,
    redis: Option<Redis>,
    postgres: Option<Postgres>,
}

impl Site {
    async fn new(release: Release, store: Store) -> Option<Self> {
        if !release.install_or_skip() {
            return None;
        }
        let stub = OpenAiStub::start(&["listed"]).await.unwrap();
        let folder = TempDir::new().unwrap();
        let mut env = vec![("STUB_URL", format!("{}/v1", stub.url()))];
        let (mut redis, mut postgres) = (None, None);
        let store = match store {
            Store::Sqlite => include_str!("launch/store-sqlite.yaml"),
            Store::Redis => {
                let started = Redis::builder().start_or_skip().await?;
                env.push(("KV_PORT", started.port().to_string()));
                redis = Some(started);
                include_str!("launch/store-redis.yaml")
            }
            Store::Postgres => {
                let builder = Postgres::builder("stack", PASSWORD, "registry");
                let started = builder.start_or_skip().await?;
                env.push(("KV_PORT", started.port().to_string()));
                env.push(("KV_DB", "registry".to_owned()));
                env.push(("KV_USER", "stack".to_owned()));
                env.push(("KV_PASSWORD", PASSWORD.to_owned()));
                postgres = Some(started);
                include_str!("launch/store-postgres.yaml")
            }
        };
        Some(Self { release, store, env, folder, _stub: stub, redis, postgres })
    }

    /// What every step shares, as the release has it.
    fn server(&self) -> &'static str {
        if self.release.is_ogx() { SERVER_OF_OGX } else { SERVER_OF_LLAMA_STACK }
    }

    fn has_shields(&self) -> bool {
        !self.release.is_ogx()
    }

    /// Started as the pod does it, and healthy.
    async fn started(&self, server: &str, resources: &str) -> LlamaStackServer {
        self.started_with(server, resources, 1).await
    }

    async fn started_with(&self, server: &str, resources: &str, workers: u8) -> LlamaStackServer {
        self.healthy(&[server, self.store, resources].join("\n"), workers).await
    }

    /// With a configuration that names its store itself.
    async fn started_alone(&self, config: &str) -> LlamaStackServer {
        self.healthy(config, 1).await
    }

    async fn healthy(&self, config: &str, workers: u8) -> LlamaStackServer {
        let boot = Boot::new(config).unwrap();
        let port = boot.port().to_string();
        let boot = boot
            .with_env("LLS_PORT", port)
            .with_env("LLS_WORKERS", workers.to_string())
            .with_env("LLS_HOST", "127.0.0.1")
            .with_program(start_program::FILES)
            .unwrap();
        let mut server = self.boot(boot);
        server.wait_healthy(PATIENCE).await.unwrap();
        server
    }

    /// Started without the program, as an operator would that knows nothing of the registry.
    fn plain(&self, server: &str, resources: &str) -> Boot {
        let boot = Boot::new([server, self.store, resources].join("\n")).unwrap();
        let app = format!("{}.core.server.server:create_app", self.release.package());
        let port = boot.port().to_string();
        let words = ["python3", "-m", "uvicorn", &app, "--factory", "--port", &port];
        boot.with_command(words)
    }

    /// What a server that was started without the program says when it refuses to.
    async fn refused(&self, server: &str, resources: &str) -> String {
        let mut server = self.boot(self.plain(server, resources));
        let ended = server.wait_exit(PATIENCE).await.unwrap();
        assert!(!ended.success(), "{}", server.log());
        server.log()
    }

    fn boot(&self, mut boot: Boot) -> LlamaStackServer {
        // Pods share a disk only where the registry is on it.
        let shared = self.redis.is_none() && self.postgres.is_none();
        let disk = if shared { self.folder.path() } else { boot.home() }.display().to_string();
        boot = boot.with_env("STATE_DIR", disk);
        for (name, value) in &self.env {
            boot = boot.with_env(*name, value);
        }
        self.release.boot(boot).unwrap()
    }
}

fn stop(mut server: LlamaStackServer) {
    server.stop().unwrap();
}
