//! Where a real server keeps its state is where the resource says: in Postgres, in Redis, on the
//! volume. It is there after a restart, and OGX leaves what llama-stack kept there as it is.

use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use llsd_testkit::{OpenAiStub, Postgres, Redis, Release, free_port};
use serde_json::json;

use crate::pod::Pod;
use crate::pod::stored::{files_below, upload};
use crate::servers_boot::{
    KEY, MODEL, PATIENCE, complete, models, post, secrets, served_id, until_ok, vllm,
};

/// The sidecar of the planned pod, on this machine.
struct Sidecar(Child);

impl Sidecar {
    fn start(pod: &Pod, port: u16, authority: &Path) -> Self {
        let containers = pod.spec().init_containers.as_ref().unwrap();
        let container =
            containers.iter().find(|container| container.name == "redis-proxy").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_llsd"));
        for argument in container.args.iter().flatten() {
            command.arg(argument.replace("127.0.0.1:6380", &format!("127.0.0.1:{port}")));
        }
        for variable in container.env.iter().flatten() {
            command.env(&variable.name, pod.value(variable));
        }
        Self(command.env("SSL_CERT_FILE", authority).spawn().unwrap())
    }
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn state_is_kept_in_postgres_and_in_a_redis_with_password_and_tls() {
    const PASSWORD: &str = "p@ss:w/rd 1";
    const ENCODED: &str = "p%40ss%3aw%2frd%201";
    for release in Release::under_test().unwrap() {
        if !release.install_or_skip() {
            return;
        }
        let builder = Redis::builder().with_password(PASSWORD).with_tls();
        let Some(redis) = builder.start_or_skip().await else { return };
        let builder = Postgres::builder("llama", PASSWORD, "stack");
        let Some(postgres) = builder.start_or_skip().await else { return };
        let stub = OpenAiStub::start_with_key(&[MODEL, "embed"], KEY).await.unwrap();
        let mut secrets = secrets(KEY);
        let dsn = format!("postgresql://llama:{ENCODED}@127.0.0.1:{}/stack", postgres.port());
        secrets.insert(("pg", "dsn"), dsn);
        secrets.insert(("redis", "password"), PASSWORD.to_owned());
        let spec = json!({
            "providers": {"inference": vllm(&stub)},
            "resources": {"models": models()},
            "storage": {
                "kv": {
                    "type": "redis",
                    "endpoint": format!("rediss://127.0.0.1:{}", redis.port()),
                    "password": {"name": "redis", "key": "password"},
                },
                "sql": {"type": "postgres", "connectionString": {"name": "pg", "key": "dsn"}},
            },
        });
        let pod = Pod::planned(release, spec, &secrets);
        let port = free_port().unwrap();
        let _sidecar = Sidecar::start(&pod, port, redis.authority().unwrap());
        let config = pod.config().replace("port: 6380", &format!("port: {port}"));
        let mut server = release.boot(pod.boot(config)).unwrap();
        server.wait_healthy(PATIENCE).await.unwrap();

        let completed = until_ok(|| complete(&server, release)).await;
        assert_eq!(completed.0, 200, "{release}: {}\n{}", completed.1, server.log());
        let keys = redis.command(Some(PASSWORD), &["KEYS", "*"]).unwrap();
        assert!(
            keys.contains("distributions:registry") && keys.contains(MODEL),
            "{release}: {keys}"
        );
        // In OGX conversations come with the API responses, which this base has not.
        if release >= Release::V0_3_5 && !release.is_ogx() {
            let nothing = json!({});
            let talked = until_ok(|| post(&server, "/v1/conversations", &nothing)).await;
            assert_eq!(talked.0, 200, "{release}: {}\n{}", talked.1, server.log());
        }
        assert!(has_tables(&postgres, PASSWORD).await, "{release}: nothing is in Postgres");
        assert!(!server.log().contains(PASSWORD), "{release}: the password is in the log");
    }
}

/// The server writes its log of completions in the background.
async fn has_tables(postgres: &Postgres, password: &str) -> bool {
    let count = "select count(*) from information_schema.tables where table_schema = 'public'";
    for _ in 0..30 {
        if postgres.query(password, count).unwrap().trim() != "0" {
            return true;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    false
}

#[tokio::test(flavor = "multi_thread")]
async fn what_users_stored_is_there_after_a_restart_on_the_same_volume() {
    for release in
        Release::under_test().unwrap().into_iter().filter(|release| *release >= Release::V0_4_7)
    {
        if !release.install_or_skip() {
            return;
        }
        let stub = OpenAiStub::start_with_key(&[MODEL, "embed"], KEY).await.unwrap();
        let spec = json!({
            "providers": {"inference": vllm(&stub)},
            "resources": {"models": models()},
            "workload": {"storage": {"mountPath": "/data/llama"}},
        });
        let pod = Pod::planned(release, spec, &secrets(KEY));
        let home = pod.container().env.iter().flatten().find(|variable| variable.name == "HOME");
        assert_eq!(home.and_then(|home| home.value.as_deref()), Some("/data/llama"));
        let mounts = pod.container().volume_mounts.as_ref().unwrap();
        assert!(mounts.iter().any(|mount| mount.mount_path == "/data/llama"));

        let volume = tempfile::tempdir().unwrap();
        let start = async || {
            let boot = pod.boot(pod.config().to_owned()).with_home(volume.path());
            let mut server = release.boot(boot).unwrap();
            server.wait_healthy(PATIENCE).await.unwrap();
            server
        };
        let server = start().await;
        let store = server
            .post_json(
                "/v1/vector_stores",
                &json!({
                    "name": "notes",
                    "embedding_model": served_id(release, "embed"),
                    "embedding_dimension": 8,
                }),
            )
            .await
            .unwrap();
        assert_eq!(store.status, 200, "{release}: {}", store.body);
        let mut paths = vec![format!("/v1/vector_stores/{}", store.body["id"].as_str().unwrap())];
        // In OGX conversations come with the API responses, which this base has not.
        if !release.is_ogx() {
            let conversation = server.post_json("/v1/conversations", &json!({})).await.unwrap();
            assert_eq!(conversation.status, 200, "{release}: {}", conversation.body);
            let id = conversation.body["id"].as_str().unwrap();
            paths.push(format!("/v1/conversations/{id}"));
        }
        paths.push(format!("/v1/files/{}", upload(&server, "hello").await));
        drop(server);

        let server = start().await;
        for path in paths {
            let answer = server.get_json(&path).await.unwrap();
            assert_eq!(answer.status, 200, "{release}: {path}: {}", answer.body);
        }
        let state = if release.is_ogx() { ".ogx" } else { ".llama" };
        assert!(volume.path().join(state).is_dir());
    }
}

/// Left to itself the server would move the folder of its predecessor away, off the volume too.
#[tokio::test(flavor = "multi_thread")]
async fn a_volume_that_llama_stack_used_keeps_all_it_holds_under_ogx() {
    let stub = OpenAiStub::start_with_key(&[MODEL, "embed"], KEY).await.unwrap();
    let spec = json!({
        "providers": {"inference": vllm(&stub)},
        "resources": {"models": models()},
        "workload": {"storage": {"mountPath": "/data/llama"}},
    });
    let volume = tempfile::tempdir().unwrap();
    let start = async |release: Release| {
        let pod = Pod::planned(release, spec.clone(), &secrets(KEY));
        let boot = pod.boot(pod.config().to_owned()).with_home(volume.path());
        let mut server = release.boot(boot).unwrap();
        server.wait_healthy(PATIENCE).await.unwrap();
        server
    };
    let ogx = Release::under_test().unwrap().into_iter().filter(|release| release.is_ogx());
    let releases: Vec<Release> = [Release::newest()].into_iter().chain(ogx).collect();
    if releases.len() == 1 || !releases.iter().all(|release| release.install_or_skip()) {
        return;
    }
    let mut server = start(Release::newest()).await;
    let file = upload(&server, "hello").await;
    server.stop().unwrap();
    let before = files_below(&volume.path().join(".llama"));
    assert!(!before.is_empty());
    for release in releases.into_iter().skip(1) {
        let mut server = start(release).await;
        server.stop().unwrap();
        assert_eq!(files_below(&volume.path().join(".llama")), before, "{release}");
    }
    let server = start(Release::newest()).await;
    let answer = server.get_json(&format!("/v1/files/{file}")).await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.body);
}
