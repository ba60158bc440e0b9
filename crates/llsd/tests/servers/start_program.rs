//! What the start program of a server's pod runs, for each release and with each setting.

use std::{fs, net::TcpListener, os::unix::fs::PermissionsExt};

use super::image::{Env, Image, stderr};

const APP: &str = "uvicorn llama_stack.core.server.server:create_app --factory";
/// With several workers.
const WORKERS_APP: &str = "serve operator_workers:create_app --factory";

#[test]
fn a_release_is_started_with_what_it_honours() {
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
        let Some(image) = Image::installed(version) else { return };
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
    let Some(image) = Image::installed("0.7.3") else { return };
    image.write("fake/sitecustomize.py", "import tempfile\ntempfile.tempdir = '/proc'\n");
    let env = [("LLS_WORKERS", "2"), ("LLS_HOST", "::1")];
    let done = image.start("version: 2", &env);
    assert!(stderr(&done).contains("workers start at the same time"), "{}", stderr(&done));
    assert!(image.call("version: 2", &env).starts_with(APP));
}

#[test]
fn ogx_is_started_without_its_own_command() {
    let Some(image) = Image::installed("ogx 1.5.0") else { return };
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

#[test]
fn the_folders_of_databases_are_there_when_the_server_opens_them() {
    let Some(image) = Image::installed("ogx 1.5.0") else { return };
    let config = "storage:\n  backends:\n    kv: {type: kv_redis, host: 127.0.0.1, port: 1}\n    \
                  sql: {type: sql_sqlite, db_path: '${env.STORE:=~/.ogx/small}/sql.db'}\n    \
                  other: {type: sql_sqlite, db_path: /proc/none/sql.db}\n  \
                  stores: {metadata: {namespace: registry, backend: kv}}\n";
    let done = image.start(config, &[]);
    assert!(done.status.success(), "{}", stderr(&done));
    assert!(image.path().join(".ogx/small").is_dir());

    let Some(image) = Image::installed("0.2.24") else { return };
    let config = "metadata_store: {type: redis, host: 127.0.0.1, port: 1}\n\
                  inference_store: {type: sqlite, db_path: '${env.STORE:=~/.llama/small}/sql.db'}\n";
    image.start(config, &[]);
    assert!(image.path().join(".llama/small").is_dir());
}

#[test]
fn what_the_environment_leaves_open_the_file_says() {
    let Some(image) = Image::installed("0.7.3") else { return };
    let host = [("LLS_HOST", "::1")];
    let call = image.call("server: {port: 9999, workers: 1}", &host);
    assert_eq!(call, format!("{APP} --host ::1 --port 9999 --workers 1"));
    let call = image.call("version: 2", &host);
    assert_eq!(call, format!("{APP} --host ::1 --port 8321 --workers 1"));
}

/// A file of the user's own need not speak of the certificate that the resource names.
#[test]
fn tls_is_served_where_the_file_says_nothing_of_it() {
    let Some(image) = Image::installed("0.7.3") else { return };
    let env = [("LLS_HOST", "::1"), ("LLS_TLS_CERT_FILE", "/crt"), ("LLS_TLS_KEY_FILE", "/key")];
    let call = image.call("version: 2", &env);
    assert!(call.ends_with("--ssl-certfile /crt --ssl-keyfile /key"), "{call}");
    let call = image.call("server: {tls_certfile: /c, tls_keyfile: /k}", &env);
    assert!(call.ends_with("--ssl-certfile /c --ssl-keyfile /k"), "{call}");
}

/// A single worker given `::` would listen on IPv6 alone, and several given nothing on IPv4 alone.
#[test]
fn the_server_listens_on_both_families_where_there_are_both() {
    let Some(image) = Image::installed("0.7.3") else { return };
    let both = TcpListener::bind("[::]:0").is_ok();
    let hosts = if both { ["", "::"] } else { ["0.0.0.0", "0.0.0.0"] };
    for ((workers, app), host) in [("1", APP), ("2", WORKERS_APP)].into_iter().zip(hosts) {
        let call = image.call("version: 2", &[("LLS_WORKERS", workers)]);
        assert!(call.starts_with(&format!("{app} --host {host} --port")), "{call}");
    }
}

/// The same of the figures of OGX.
#[test]
fn figures_are_served_on_both_families_where_there_are_both() {
    let Some(image) = Image::installed("ogx 1.5.0") else { return };
    image.write("fake/uvicorn/__main__.py", "import os\nprint(os.environ['OGX_METRICS_HOST'])\n");
    let every = if TcpListener::bind("[::]:0").is_ok() { "::" } else { "0.0.0.0" };
    for (asked, expected) in [("0.0.0.0", every), ("127.0.0.3", "127.0.0.3")] {
        assert_eq!(image.call("version: 2", &[("OGX_METRICS_HOST", asked)]), expected);
    }
}

#[test]
fn the_server_is_instrumented_when_telemetry_is_asked_for() {
    let Some(image) = Image::installed("0.7.3") else { return };
    let place = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://otel:4318");
    let telemetry = [place, ("LLS_HOST", "::1")];
    assert!(image.call("version: 2", &telemetry).starts_with(APP), "without the program");
    image.write("bin/opentelemetry-instrument", "#!/bin/sh\necho instrumented \"$@\"\n");
    let program = image.path().join("bin/opentelemetry-instrument");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let call = image.call("version: 2", &telemetry);
    assert!(call.starts_with("instrumented ") && call.contains(APP), "{call}");
    assert!(image.call("version: 2", &telemetry[1..]).starts_with(APP), "nobody asked");
    for (more, instrumented) in [
        (("OTEL_METRICS_EXPORTER", "prometheus"), true),
        (("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://otel:4318"), true),
        (("OTEL_SERVICE_NAME", "x"), false),
        (("OTEL_TRACES_EXPORTER", "none"), false),
        (("OTEL_SDK_DISABLED", "true"), false),
    ] {
        let call = image.call("version: 2", &[more, telemetry[1]]);
        assert_eq!(call.starts_with("instrumented "), instrumented, "{more:?}");
    }
    let disabled = [place, ("OTEL_SDK_DISABLED", "True"), telemetry[1]];
    assert!(image.call("version: 2", &disabled).starts_with(APP), "it is switched off");
}

/// Each release has the configuration of its distributions somewhere else.
#[test]
fn the_image_s_own_configuration_is_found_where_its_release_has_it() {
    let asked = [("LLAMA_STACK_CONFIG", ""), ("LLS_WORKERS", "2"), ("LLS_HOST", "::1")];
    let workers = "--host ::1 --port 9000 --workers 2 --timeout-worker-healthcheck 60";
    for (version, file) in [
        ("0.7.3", "fake/llama_stack/distributions/mine/config.yaml"),
        ("0.3.5", "fake/llama_stack/distributions/mine/run.yaml"),
        ("0.7.3", "own.yaml"),
    ] {
        let Some(image) = Image::installed(version) else { return };
        image.write(file, "server: {port: 9000}");
        let own = image.path().join("own.yaml").display().to_string();
        let env =
            [asked[0], asked[1], asked[2], ("DISTRO_NAME", "mine"), ("RUN_CONFIG_PATH", &own)];
        assert_eq!(image.call("version: 2", &env), format!("{WORKERS_APP} {workers}"), "{file}");
    }
    let Some(image) = Image::installed("0.2.12") else { return };
    image.write("fake/llama_stack/templates/mine/run.yaml", "version: 2");
    let env = [asked[0], asked[1], ("DISTRO_NAME", "mine")];
    let call = image.call("version: 2", &env);
    assert!(call.ends_with("/templates/mine/run.yaml --port 8321"), "{call}");
}

#[test]
fn where_no_configuration_is_found_the_image_runs_as_it_is_and_says_what_has_no_effect() {
    let Some(image) = Image::installed("0.7.3") else { return };
    let env = [("LLAMA_STACK_CONFIG", ""), ("DISTRO_NAME", "mine"), ("LLS_WORKERS", "2")];
    let program = |name: &str| {
        image.write(&format!("bin/{name}"), "#!/bin/sh\necho \"${0##*/}\" \"$@\"\n");
        let program = image.path().join("bin").join(name);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    };
    program("llama");
    let said = stderr(&image.start("version: 2", &env));
    assert!(said.contains("runs as it is: workload.workers without effect"), "{said}");
    assert_eq!(image.call("version: 2", &env), "llama stack run mine --port 8321");
    program("llama-stack-entrypoint.sh");
    assert_eq!(image.call("version: 2", &env), "llama-stack-entrypoint.sh");
    let tls = [env[0], env[1], ("LLS_TLS_CERT_FILE", "/c"), ("LLS_TLS_KEY_FILE", "/k")];
    let said = stderr(&image.start("version: 2", &tls));
    assert!(said.contains("networking.tls without effect"), "{said}");
}

#[test]
fn a_start_that_is_not_possible_says_why_and_fails() {
    let Some(image) = Image::installed("0.7.3") else { return };
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
