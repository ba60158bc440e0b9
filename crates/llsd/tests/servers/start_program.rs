//! What the start program of a server's pod runs, and what it forgets before: in a real Python,
//! with packages that only say how they were called. `persisted_registry.rs` has the real servers.

use std::{
    fs,
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
    time::{Duration, Instant},
};

use llsd_testkit::{Release, Venv};
use tempfile::TempDir;

const PROGRAM: &str = include_str!("../../../llsd-plan/src/objects/launch.py");
/// Names and values.
type Env<'a> = &'a [(&'a str, &'a str)];

const APP: &str = "uvicorn llama_stack.core.server.server:create_app --factory";
/// With several workers.
const WORKERS_APP: &str = "serve operator_workers:create_app --factory";

/// Prints how it was called, as a module of the name that its file gives it.
const CALLED: &str = "import sys\nprint(sys.argv[0].split('/fake/')[1], *sys.argv[1:])\n";

/// An image whose server says how it was called, and its volume.
struct Image {
    venv: Venv,
    folder: TempDir,
}

impl Image {
    /// The version may have a package before it, `ogx 1.5.0`; without one it is llama-stack's.
    fn of(test: &str, version: &str) -> Option<Self> {
        if !Release::NEWEST.install_or_skip(test) {
            return None;
        }
        let image =
            Self { venv: Release::NEWEST.install().unwrap(), folder: TempDir::new().unwrap() };
        let (package, version) = match version.split_once(' ') {
            Some((package, version)) => (package, version),
            None => ("llama_stack", version),
        };
        let metadata = format!("Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n");
        image.write(&format!("fake/{package}-{version}.dist-info/METADATA"), &metadata);
        image.write("fake/ogx/__init__.py", "");
        image.write("fake/llama_stack/__init__.py", "");
        image.write("fake/llama_stack/core/server/server.py", CALLED);
        image.write("fake/llama_stack/distribution/server/server.py", CALLED);
        image.write("fake/uvicorn/__main__.py", CALLED);
        image.write(
            "fake/uvicorn/__init__.py",
            "import sys\n\
             class Config:\n    def __init__(self, timeout_worker_healthcheck=5): pass\n\
             def main(): print('serve', *sys.argv[1:])\n",
        );
        Some(image)
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, text: &str) {
        let file = self.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn start(&self, config: &str, env: Env) -> Output {
        self.write("config.yaml", config);
        Command::new(self.venv.python())
            .args(["-c", PROGRAM])
            .env_clear()
            .env("PATH", self.path().join("bin"))
            .env("HOME", self.path())
            .env("TMPDIR", self.path())
            .env("PYTHONPATH", self.path().join("fake"))
            .env("LLAMA_STACK_CONFIG", self.path().join("config.yaml"))
            .envs(env.iter().copied())
            .output()
            .unwrap()
    }

    /// How the server was called.
    fn call(&self, config: &str, env: Env) -> String {
        let done = self.start(config, env);
        assert!(done.status.success(), "{}", stderr(&done));
        let call = String::from_utf8(done.stdout).unwrap();
        let call = call.replace(&self.path().display().to_string(), "");
        call.trim().replace("/__main__.py", "")
    }

    /// Runs Python on the store that the server would have.
    fn on_store(&self, statements: &str) -> String {
        let program = format!(
            "import sqlite3\n\
             db = sqlite3.connect('{}/kvstore.db')\n\
             db.execute('CREATE TABLE IF NOT EXISTS kvstore (key TEXT PRIMARY KEY, value TEXT, expiration TIMESTAMP)')\n\
             {statements}\n\
             db.commit()\n",
            self.path().display()
        );
        let done = Command::new(self.venv.python()).args(["-c", &program]).output().unwrap();
        assert!(done.status.success(), "{}", stderr(&done));
        String::from_utf8(done.stdout).unwrap()
    }

    /// Stores records as servers do: kind, id, provider, source.
    fn store(&self, records: &[[&str; 4]]) {
        for [kind, id, provider, source] in records {
            let key = format!("distributions:registry:v10::{kind}:{id}");
            let value = format!(r#"{{"provider_id": "{provider}", "source": "{source}"}}"#);
            self.on_store(&format!(
                "db.execute('REPLACE INTO kvstore (key, value) VALUES (?, ?)', ('{key}', '{value}'))"
            ));
        }
    }

    /// The records that are left, as `kind:id`.
    fn left(&self) -> Vec<String> {
        let keys = self.on_store(
            "for row in db.execute(\"SELECT key FROM kvstore WHERE key LIKE 'dist%' ORDER BY key\"): print(row[0])",
        );
        keys.lines().map(|key| key.split_once("::").unwrap().1.to_owned()).collect()
    }

    /// A configuration of providers `vllm`, `guard` and `faiss`, with its store on the volume.
    fn config(&self, resources: &str) -> String {
        format!(
            "providers:\n  \
               inference: [{{provider_id: vllm}}]\n  \
               safety: [{{provider_id: guard}}]\n  \
               vector_io: [{{provider_id: faiss}}]\n\
             storage: {{backends: {{kv_default: {{type: kv_sqlite, db_path: '{}/kvstore.db'}}}}}}\n\
             registered_resources:\n{resources}\n",
            self.path().display()
        )
    }
}

fn stderr(done: &Output) -> String {
    String::from_utf8_lossy(&done.stderr).into_owned()
}

#[test]
fn a_release_is_started_with_what_it_honours() {
    let test = "a_release_is_started_with_what_it_honours";
    let tls = "server: {port: 9999, workers: 9, tls_certfile: /c, tls_keyfile: '${env.KEY:=/k}'}";
    let mutual = "server: {tls_certfile: /c, tls_keyfile: /k, tls_cafile: /a}";
    let cases = [
        (
            "0.2.12",
            "{}",
            "llama_stack/distribution/server/server.py --config /config.yaml --port 8400",
        ),
        (
            "0.2.16.dev3",
            "{}",
            "llama_stack/distribution/server/server.py --config /config.yaml --port 8400",
        ),
        ("0.2.17", tls, "llama_stack/core/server/server.py /config.yaml --port 8400"),
        ("0.2.24", "{}", "llama_stack/core/server/server.py /config.yaml --port 8400"),
        ("0.3.0rc1", "{}", "--port 8400 --workers 2 --timeout-worker-healthcheck 60"),
        (
            "0.7.3",
            tls,
            "--port 8400 --workers 2 --ssl-certfile /c --ssl-keyfile /k --timeout-worker-healthcheck 60",
        ),
        (
            "0.7.3+vendor.1",
            mutual,
            "--port 8400 --workers 2 --ssl-certfile /c --ssl-keyfile /k --ssl-ca-certs /a \
             --ssl-cert-reqs 2 --timeout-worker-healthcheck 60",
        ),
        ("0.0.0", "{}", "--port 8400 --workers 2 --timeout-worker-healthcheck 60"),
    ];
    for (version, config, expected) in cases {
        let Some(image) = Image::of(test, version) else { return };
        let env = [("LLS_PORT", "8400"), ("LLS_WORKERS", "2"), ("LLS_HOST", "::1")];
        let config = if config == "{}" { "version: 2" } else { config };
        let expected = if expected.starts_with("--") {
            format!("{WORKERS_APP} --host ::1 {expected}")
        } else {
            expected.to_owned()
        };
        assert_eq!(image.call(config, &env), expected, "{version}");
    }
}

/// Better workers that may clash than no server.
#[test]
fn workers_start_where_nothing_can_be_written() {
    let test = "workers_start_where_nothing_can_be_written";
    let Some(image) = Image::of(test, "0.7.3") else { return };
    image.write("fake/sitecustomize.py", "import tempfile\ntempfile.tempdir = '/proc'\n");
    let env = [("LLS_WORKERS", "2"), ("LLS_HOST", "::1")];
    let done = image.start("version: 2", &env);
    assert!(stderr(&done).contains("workers start at the same time"), "{}", stderr(&done));
    assert!(image.call("version: 2", &env).starts_with(APP));
}

#[test]
fn ogx_is_started_without_its_own_command() {
    let test = "ogx_is_started_without_its_own_command";
    let Some(image) = Image::of(test, "ogx 1.5.0") else { return };
    let env = [("LLS_PORT", "8400"), ("LLS_WORKERS", "2"), ("LLS_HOST", "::1")];
    let app = "uvicorn ogx.core.server.server:create_app --factory --host ::1 --port 8400";
    let call = image.call("server: {insecure: true}", &env);
    let asked = "--host ::1 --port 8400 --workers 2 --timeout-worker-healthcheck 60";
    assert_eq!(call, format!("{WORKERS_APP} {asked}"));
    // The image's own file, where none is mounted.
    image.write("fake/ogx/distributions/nvidia/config.yaml", "server: {workers: 1}");
    let env = [("LLAMA_STACK_CONFIG", ""), ("DISTRO_NAME", "nvidia"), env[0], env[2]];
    assert_eq!(image.call("version: 2", &env), format!("{app} --workers 1"));
}

/// Another prefix than llama-stack's, which has none in this kind of store, and other ids.
#[test]
fn what_configuration_registered_with_ogx_is_forgotten() {
    let test = "what_configuration_registered_with_ogx_is_forgotten";
    let Some(image) = Image::of(test, "ogx 1.5.0") else { return };
    let record = |kind: &str, id: &str| {
        let key = format!("registry:distributions:registry:v10::{kind}:{id}");
        image.on_store(&format!(
            "db.execute('REPLACE INTO kvstore (key, value) VALUES (?, ?)', ('{key}', '{{}}'))"
        ));
    };
    for id in ["vllm/alias", "vllm/served", "vllm/own", "bare"] {
        record("model", id);
    }
    record("vector_store", "vs_1");
    // A llama-stack server kept this one in the same file.
    image.store(&[["model", "vllm/alias", "vllm", "via_register_api"]]);
    let config = image.config(
        "  models:\n  \
           - {model_id: alias, provider_model_id: served, provider_id: vllm}\n  \
           - {model_id: vllm/own, provider_id: vllm}\n  \
           - {model_id: bare, provider_id: all}",
    );
    image.call(&config, &[]);
    let left = image.on_store(
        "for row in db.execute(\"SELECT key FROM kvstore WHERE key LIKE '%v10%' ORDER BY key\"): print(row[0])",
    );
    assert_eq!(
        left.lines().collect::<Vec<_>>(),
        [
            "distributions:registry:v10::model:vllm/alias",
            "registry:distributions:registry:v10::model:vllm/served",
            "registry:distributions:registry:v10::vector_store:vs_1",
        ]
    );
}

#[test]
fn the_folders_of_databases_are_there_when_the_server_opens_them() {
    let test = "the_folders_of_databases_are_there_when_the_server_opens_them";
    let Some(image) = Image::of(test, "ogx 1.5.0") else { return };
    let config = "storage:\n  backends:\n    kv: {type: kv_redis, host: 127.0.0.1, port: 1}\n    \
                  sql: {type: sql_sqlite, db_path: '${env.STORE:=~/.ogx/small}/sql.db'}\n    \
                  other: {type: sql_sqlite, db_path: /proc/none/sql.db}\n  \
                  stores: {metadata: {namespace: registry, backend: kv}}\n";
    let done = image.start(config, &[]);
    assert!(done.status.success(), "{}", stderr(&done));
    assert!(image.path().join(".ogx/small").is_dir());
}

#[test]
fn what_the_environment_leaves_open_the_file_says() {
    let test = "what_the_environment_leaves_open_the_file_says";
    let Some(image) = Image::of(test, "0.7.3") else { return };
    let host = [("LLS_HOST", "::1")];
    let call = image.call("server: {port: 9999, workers: 1}", &host);
    assert_eq!(call, format!("{APP} --host ::1 --port 9999 --workers 1"));
    let call = image.call("version: 2", &host);
    assert_eq!(call, format!("{APP} --host ::1 --port 8321 --workers 1"));
}

/// A file of the user's own need not speak of the certificate that the resource names.
#[test]
fn tls_is_served_where_the_file_says_nothing_of_it() {
    let test = "tls_is_served_where_the_file_says_nothing_of_it";
    let Some(image) = Image::of(test, "0.7.3") else { return };
    let env = [("LLS_HOST", "::1"), ("LLS_TLS_CERT_FILE", "/crt"), ("LLS_TLS_KEY_FILE", "/key")];
    let call = image.call("version: 2", &env);
    assert!(call.ends_with("--ssl-certfile /crt --ssl-keyfile /key"), "{call}");
    let call = image.call("server: {tls_certfile: /c, tls_keyfile: /k}", &env);
    assert!(call.ends_with("--ssl-certfile /c --ssl-keyfile /k"), "{call}");
}

/// A single worker given `::` would listen on IPv6 alone, and several given nothing on IPv4 alone.
#[test]
fn the_server_listens_on_both_families_where_there_are_both() {
    let test = "the_server_listens_on_both_families_where_there_are_both";
    let Some(image) = Image::of(test, "0.7.3") else { return };
    let both = TcpListener::bind("[::]:0").is_ok();
    let hosts = if both { ["", "::"] } else { ["0.0.0.0", "0.0.0.0"] };
    for ((workers, app), host) in [("1", APP), ("2", WORKERS_APP)].into_iter().zip(hosts) {
        let call = image.call("version: 2", &[("LLS_WORKERS", workers)]);
        assert!(call.starts_with(&format!("{app} --host {host} --port")), "{call}");
    }
}

#[test]
fn the_server_is_instrumented_when_telemetry_is_asked_for() {
    let test = "the_server_is_instrumented_when_telemetry_is_asked_for";
    let Some(image) = Image::of(test, "0.7.3") else { return };
    let telemetry = [("OTEL_SERVICE_NAME", "x"), ("LLS_HOST", "::1")];
    assert!(image.call("version: 2", &telemetry).starts_with(APP), "without the program");
    image.write("bin/opentelemetry-instrument", "#!/bin/sh\necho instrumented \"$@\"\n");
    let program = image.path().join("bin/opentelemetry-instrument");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let call = image.call("version: 2", &telemetry);
    assert!(call.starts_with("instrumented ") && call.contains(APP), "{call}");
    assert!(image.call("version: 2", &telemetry[1..]).starts_with(APP), "nobody asked");
}

#[test]
fn a_start_that_is_not_possible_says_why_and_fails() {
    let test = "a_start_that_is_not_possible_says_why_and_fails";
    let Some(image) = Image::of(test, "0.7.3") else { return };
    let cases: [(&str, Env, &str); 6] = [
        (
            "version: 2",
            &[("LLAMA_STACK_CONFIG", "/none")],
            "/none cannot be read: FileNotFoundError",
        ),
        ("a: [secret", &[], "cannot be read: ParserError"),
        ("- secret", &[], "is not a mapping"),
        ("version: 2", &[("LLS_PORT", "http")], "LLS_PORT is no positive number: http"),
        ("version: 2", &[("LLS_WORKERS", "0")], "LLS_WORKERS is no positive number: 0"),
        ("server: {tls_certfile: /c}", &[], "server.tls_keyfile need each other"),
    ];
    for (config, env, expected) in cases {
        let done = image.start(config, env);
        let said = stderr(&done);
        assert_eq!(done.status.code(), Some(1), "{said}");
        let last = said.lines().last().unwrap();
        assert!(last.starts_with("start: error: ") && last.ends_with(expected), "{last}");
        assert!(!said.contains("secret"), "{said}");
    }
}

#[test]
fn a_store_that_does_not_answer_delays_the_start_and_no_more() {
    let test = "a_store_that_does_not_answer_delays_the_start_and_no_more";
    let Some(image) = Image::of(test, "0.7.3") else { return };
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let store = |settings: String| {
        format!("storage: {{backends: {{kv_default: {{host: 127.0.0.1, {settings}}}}}}}")
    };
    let cases = [
        (format!("type: kv_redis, port: {port}"), "no answer from the metadata store in 10 s"),
        ("type: kv_redis, port: 9".to_owned(), "ConnectionError from the metadata store"),
        (
            "type: kv_postgres, port: 9, user: u, password: s3cr3t".to_owned(),
            "OperationalError from the metadata store",
        ),
        ("type: kv_mongodb".to_owned(), "in a store of type mongodb"),
    ];
    for (settings, expected) in cases {
        let started = Instant::now();
        let done = image.start(&store(settings), &[]);
        let said = stderr(&done);
        assert!(done.status.success() && said.contains(expected), "{said}");
        assert!(!said.contains("s3cr3t"), "{said}");
        assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    }
}

#[test]
fn only_what_came_from_configuration_is_forgotten() {
    let test = "only_what_came_from_configuration_is_forgotten";
    let Some(image) = Image::of(test, "0.7.3") else { return };
    image.store(&[
        ["model", "vllm/served", "vllm", "via_register_api"],
        ["model", "vllm/alias", "vllm", "via_register_api"],
        ["model", "vllm/listed", "vllm", "listed_from_provider"],
        ["model", "gone/listed", "gone", "listed_from_provider"],
        ["shield", "configured", "guard", "via_register_api"],
        ["shield", "skipped", "guard", "via_register_api"],
        ["vector_store", "vs_1", "faiss", "via_register_api"],
        ["vector_store", "configured", "faiss", "via_register_api"],
    ]);
    let config = image.config(
        "  models: [{model_id: alias, provider_model_id: served, provider_id: vllm}]\n  \
           shields: [{shield_id: configured, provider_id: guard}, {shield_id: skipped}]\n  \
           vector_stores: [{vector_store_id: configured, provider_id: faiss}]",
    );
    image.call(&config, &[]);
    // The id of a model is made of the provider's name for it. A shield without a provider is
    // skipped by the server, so this one is a user's.
    let left = ["model:vllm/alias", "model:vllm/listed", "shield:skipped", "vector_store:vs_1"];
    assert_eq!(image.left(), left);
}

#[test]
fn what_was_taken_out_of_the_file_is_forgotten_once() {
    let test = "what_was_taken_out_of_the_file_is_forgotten_once";
    let Some(image) = Image::of(test, "0.7.3") else { return };
    let shield = ["shield", "s", "guard", "via_register_api"];
    let vector_store = ["vector_store", "vs", "faiss", "via_register_api"];
    let configured = image.config(
        "  shields: [{shield_id: s, provider_id: guard}]\n  \
           vector_stores: [{vector_store_id: vs, provider_id: faiss}]",
    );
    let removed = image.config("  models: []");
    image.call(&configured, &[]);
    image.store(&[shield, vector_store]); // by the server
    image.call(&removed, &[]);
    assert_eq!(image.left(), ["vector_store:vs"], "users keep what they stored in it");
    image.store(&[shield]); // by a user
    image.call(&removed, &[]);
    assert_eq!(image.left(), ["shield:s", "vector_store:vs"]);
}

/// The server stops when it knows shields but not the default one of its file.
#[test]
fn shields_that_would_stop_the_first_start_are_forgotten() {
    let test = "shields_that_would_stop_the_first_start_are_forgotten";
    let Some(image) = Image::of(test, "0.7.3") else { return };
    let unregistered =
        format!("{}safety: {{default_shield_id: d}}\n", image.config("  models: []"));
    let shield = ["shield", "s", "guard", "via_register_api"];
    image.store(&[shield]); // by whom is not known
    image.call(&unregistered, &[]);
    assert!(image.left().is_empty());
    image.store(&[shield]); // by a user
    let said = stderr(&image.start(&unregistered, &[]));
    assert!(said.contains("no shield is called d"), "{said}");
    assert_eq!(image.left(), ["shield:s"]);
}

#[test]
fn the_kubelet_finds_nothing_to_expand_in_the_program() {
    assert!(!PROGRAM.contains("$(") && !PROGRAM.contains("$$"));
}
