//! A real server that the start program started has the port, the certificate and the workers that
//! were asked for, whatever its release reads of its file, and ends when the kubelet asks it to.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    os::unix::process::ExitStatusExt,
    time::{Duration, Instant},
};

use llsd_plan::objects::start_program;
use llsd_testkit::{Boot, LlamaStackServer, OpenAiStub, Release};

/// Ten times what an idle machine needs.
const PATIENCE: Duration = Duration::from_secs(150);
const KILLED: i32 = 9;

#[tokio::test(flavor = "multi_thread")]
async fn port_certificate_and_workers_are_as_asked() {
    let stub = OpenAiStub::start(&["listed"]).await.unwrap();
    for release in Release::under_test().unwrap() {
        if !release.install_or_skip() {
            return;
        }
        let config = if release < Release::V0_3_5 {
            include_str!("launch/start-0.2.yaml")
        } else {
            include_str!("launch/start-0.3.yaml")
        };
        let server = "server: {port: 9321, tls_certfile: tls.crt, tls_keyfile: tls.key}";
        let boot = Boot::new(format!("{config}{server}\n")).unwrap();
        let (port, state) = (boot.port(), boot.home().display().to_string());
        let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        fs::write(boot.home().join("tls.crt"), certified.cert.pem()).unwrap();
        fs::write(boot.home().join("tls.key"), certified.signing_key.serialize_pem()).unwrap();
        let boot = boot
            .with_env("STUB_URL", format!("{}/v1", stub.url()))
            .with_env("STATE_DIR", state)
            .with_env("LLS_PORT", port.to_string())
            .with_env("LLS_WORKERS", "2")
            .with_env("LLS_HOST", "127.0.0.1")
            .with_https(certified.cert.pem())
            .with_program(start_program::FILES)
            .unwrap();
        let mut server = release.boot(boot).unwrap();
        server.wait_healthy(PATIENCE).await.unwrap();

        let version = server.get_json("/v1/version").await.unwrap();
        assert_eq!(version.body["version"], release.version());
        assert!(!speaks_plain_http(port), "{release}");
        assert!(TcpStream::connect(("127.0.0.1", 9321)).is_err(), "{release}: the file's port");
        if release < Release::V0_3_5 {
            assert!(server.log().contains("1 instead of 2"), "{}", server.log());
        } else {
            assert_eq!(processes(server.id()), 2, "{release}: {}", server.log());
        }
        if release >= Release::V0_3_5 {
            workers_serve(2, &server).await;
        }
        let ended = server.stop().unwrap();
        assert_ne!(ended.signal(), Some(KILLED), "{release} had to be killed");
    }
}

/// Nothing is mounted where the resource asks for workers and a certificate alone: the file is the
/// image's own and speaks of neither.
#[tokio::test(flavor = "multi_thread")]
async fn certificate_and_workers_are_served_on_the_image_s_own_file() {
    let stub = OpenAiStub::start(&["listed"]).await.unwrap();
    for release in [Release::newest(), Release::newest_ogx()] {
        if !release.install_or_skip() {
            return;
        }
        let boot = Boot::new(include_str!("launch/start-0.3.yaml")).unwrap();
        let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let path = |name: &str| boot.home().join(name).display().to_string();
        fs::write(path("tls.crt"), certified.cert.pem()).unwrap();
        fs::write(path("tls.key"), certified.signing_key.serialize_pem()).unwrap();
        let port = boot.port();
        let env = [
            ("LLAMA_STACK_CONFIG", String::new()),
            ("OGX_CONFIG", String::new()),
            ("RUN_CONFIG_PATH", boot.config_file().display().to_string()),
            ("LLS_TLS_CERT_FILE", path("tls.crt")),
            ("LLS_TLS_KEY_FILE", path("tls.key")),
            ("LLS_PORT", port.to_string()),
            ("LLS_WORKERS", "2".to_owned()),
            ("LLS_HOST", "127.0.0.1".to_owned()),
            ("STUB_URL", format!("{}/v1", stub.url())),
            ("STATE_DIR", boot.home().display().to_string()),
        ];
        let boot =
            boot.with_https(certified.cert.pem()).with_program(start_program::FILES).unwrap();
        let boot = env.into_iter().fold(boot, |boot, (name, value)| boot.with_env(name, value));
        let mut server = release.boot(boot).unwrap();
        server.wait_healthy(PATIENCE).await.unwrap();
        assert!(!speaks_plain_http(port), "{release}");
        assert_eq!(processes(server.id()), 2, "{release}: {}", server.log());
        workers_serve(2, &server).await;
        server.stop().unwrap();
    }
}

/// A worker of OGX that starts on a new database while another one makes the tables there fails, and
/// takes the server down with it.
#[tokio::test]
async fn workers_start_one_after_the_other() {
    let start = "os.mkdir('at-it'); await asyncio.sleep(0.3); os.rmdir('at-it')";
    let Some(mut server) = workers(start) else { return };
    server.wait_healthy(PATIENCE).await.unwrap();
    workers_serve(WORKERS, &server).await;
    assert!(server.stop().unwrap().success(), "{}", server.log());
}

/// uvicorn ends with success then, and the kubelet would not keep the last words.
#[tokio::test]
async fn a_worker_that_does_not_start_fails_the_server() {
    let start = "os.mkdir('only-one-may')";
    let Some(mut server) = workers(start) else { return };
    assert_eq!(server.wait_exit(PATIENCE).await.unwrap().code(), Some(1), "{}", server.log());
}

const WORKERS: usize = 4;

/// A server with workers that do so much when they start.
fn workers(start: &str) -> Option<LlamaStackServer> {
    if !Release::newest().install_or_skip() {
        return None;
    }
    let app = format!(
        "
import asyncio, contextlib, os, fastapi

@contextlib.asynccontextmanager
async def lifespan(app):
    {start}
    yield

def create_app():
    app = fastapi.FastAPI(lifespan=lifespan)
    app.get('/v1/health')(lambda: {{}})
    return app
"
    );
    let boot = Boot::new("version: 2").unwrap();
    let packages = boot.home().join("packages");
    let folder = packages.join("llama_stack/core/server");
    fs::create_dir_all(&folder).unwrap();
    for package in folder.ancestors().take(3) {
        fs::write(package.join("__init__.py"), "").unwrap();
    }
    fs::write(folder.join("server.py"), app).unwrap();
    let port = boot.port().to_string();
    let boot = boot
        .with_env("PYTHONPATH", packages.display().to_string())
        .with_env("LLS_PORT", port)
        .with_env("LLS_WORKERS", WORKERS.to_string())
        .with_env("LLS_HOST", "127.0.0.1")
        .with_program(start_program::FILES)
        .unwrap();
    Some(Release::newest().boot(boot).unwrap())
}

/// A worker that is asked to end while it starts may not hear it.
async fn workers_serve(count: usize, server: &LlamaStackServer) {
    let begun = Instant::now();
    while server.log().matches("Application startup complete").count() < count {
        assert!(!server.log().contains("startup failed"), "{}", server.log());
        assert!(begun.elapsed() < PATIENCE, "one worker never serves: {}", server.log());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn speaks_plain_http(port: u16) -> bool {
    let mut connection = TcpStream::connect(("127.0.0.1", port)).unwrap();
    connection.write_all(b"GET /v1/health HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = connection.read_to_end(&mut answer);
    answer.starts_with(b"HTTP/")
}

/// The children of the server that serve requests; another one only keeps track of semaphores.
fn processes(server: u32) -> usize {
    let children = fs::read_to_string(format!("/proc/{server}/task/{server}/children")).unwrap();
    let is_worker = |child: &&str| {
        let command = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).contains("spawn_main")
    };
    children.split_whitespace().filter(is_worker).count()
}
