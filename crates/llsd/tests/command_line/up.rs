//! What `llsd up` says before there is a server: each mistake by its place, with what to do, and never with a value.
//! `servers/up.rs` runs a real server.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use llsd_testkit::free_port;

use crate::support::{Run, repository};

const HEAD: &str = "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata: {name: demo}\nspec:\n";
const STARTER: &str = "  distribution: {name: starter}\n";
const VLLM: &str = "  providers: {inference: {provider: vllm, endpoint: \"http://127.0.0.1:1\"}}\n";
const WITH_KEYS: &str = "  providers:\n    inference:\n    - {id: vllm, provider: vllm, endpoint: \"http://127.0.0.1:1\", \
                         apiKey: {name: keys, key: vllm}}\n    - {id: openai, provider: openai, apiKey: {name: keys, key: openai}}\n";

/// A folder with a resource, whose programs are those that the test puts there.
struct Laptop {
    folder: tempfile::TempDir,
    port: u16,
}

impl Laptop {
    fn with(spec: &str) -> Self {
        let laptop = Self { folder: tempfile::tempdir().unwrap(), port: free_port().unwrap() };
        fs::create_dir(laptop.folder.path().join("bin")).unwrap();
        laptop.file("stack.yaml", &format!("{HEAD}{STARTER}{spec}"));
        laptop
    }

    fn file(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    /// A program on the PATH, as a script of the shell.
    fn program(&self, name: &str, script: &str) {
        let file = self.folder.path().join("bin").join(name);
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn up(&self, more: &[&str]) -> Run {
        let port = self.port.to_string();
        self.run(&[&["-f", "stack.yaml", "--port", port.as_str()], more].concat())
    }

    fn run(&self, arguments: &[&str]) -> Run {
        let done = Command::new(assert_cmd::cargo::cargo_bin!("llsd"))
            .arg("up")
            .args(arguments)
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", self.folder.path().join("bin"))
            .env("HOME", self.folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        Run {
            code: done.status.code().unwrap(),
            stdout: String::from_utf8(done.stdout).unwrap(),
            stderr: String::from_utf8(done.stderr).unwrap(),
        }
    }
}

fn expect(run: &Run, code: i32, words: &[&str]) {
    assert_eq!(run.code, code, "{}", run.stderr);
    for words in words {
        assert!(run.stderr.contains(words), "{words}:\n{}", run.stderr);
    }
    assert!(!run.stderr.contains("panicked") && run.stdout.is_empty(), "{}", run.stderr);
}

#[test]
fn a_wrong_command_line_is_said_before_anything_is_read() {
    let laptop = Laptop::with(VLLM);
    expect(&laptop.run(&[]), 2, &["--filename"]);
    expect(&laptop.run(&["-f", "stacks.yaml"]), 2, &["stacks.yaml: No such file"]);
    expect(&laptop.up(&["--endpoint", "vllm"]), 2, &["must be ID=URL"]);
    expect(&laptop.up(&["--endpoint", "=http://h"]), 2, &["must have an id before the `=`"]);
    expect(&laptop.run(&["-f", "stack.yaml", "--port", "80"]), 2, &["80 is not in 1024..="]);
    expect(&laptop.up(&["--release", "9.9.9"]), 2, &["for example 0.7.3"]);
    expect(&laptop.up(&["--env-file", "prod.env"]), 2, &["prod.env: No such file"]);
    expect(&laptop.run(&["-f", "-", "--watch"]), 2, &["--watch needs files"]);
    for flag in ["--base", "--facts", "--image-config"] {
        expect(&laptop.up(&["--watch", flag, "-"]), 2, &["--watch needs files"]);
    }
}

#[test]
fn a_wrong_file_is_said_by_line_and_field() {
    let laptop = Laptop::with("  providers: {inference: {provider: vllm, endpont: x}}\n");
    expect(&laptop.up(&[]), 1, &["stack.yaml:6:", "endpont", "→"]);
    laptop.file("stack.yaml", "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n");
    expect(&laptop.up(&[]), 1, &["the file holds no LlamaStackDistribution"]);
    laptop.file("stack.yaml", &format!("{HEAD}  distribution: {{name: startr}}\n"));
    expect(&laptop.up(&[]), 1, &["did you mean starter?"]);
    let one = format!("{HEAD}{STARTER}");
    laptop.file("stack.yaml", &format!("{one}---\n{}", one.replace("demo", "second")));
    expect(&laptop.up(&[]), 2, &["one server runs at a time", "2 resources"]);
    laptop.file("stack.yaml", &format!("{HEAD}{STARTER}").replace("{name: demo}", "{}"));
    expect(&laptop.up(&[]), 1, &["metadata.name"]);
}

#[test]
fn what_only_a_cluster_can_do_is_refused_with_what_to_do() {
    let laptop = Laptop::with("  externalProviders: {inference: [{providerId: a, image: b}]}\n");
    expect(&laptop.up(&[]), 1, &["spec.externalProviders", "without them"]);
    let laptop = Laptop::with("  access: {authentication: {kubernetes: {}}}\n");
    expect(&laptop.up(&[]), 1, &["spec.access.authentication.kubernetes", "→"]);
    let laptop = Laptop::with("  overrideConfig: {configMapName: own}\n");
    expect(&laptop.up(&[]), 3, &["only the cluster has the ConfigMap own"]);
    let laptop = Laptop::with("");
    laptop.file("stack.yaml", &format!("{HEAD}  distribution: {{image: \"example.com/a:b\"}}\n"));
    expect(&laptop.up(&[]), 3, &["example.com/a:b"]);
}

#[test]
fn an_endpoint_of_no_provider_is_refused_with_the_ids_that_there_are() {
    let laptop = Laptop::with(VLLM);
    let said = laptop.up(&["--endpoint", "vlm=http://localhost:8000"]);
    expect(&said, 1, &["no provider of the file has the id `vlm`", "did you mean vllm?"]);
    let said = laptop.up(&["--endpoint", "ollama=http://localhost:8000"]);
    expect(&said, 1, &["no provider of the file has the id `ollama`", "the file has vllm"]);
    let said = laptop.up(&["--endpoint", "vllm=localhost"]);
    expect(&said, 1, &["spec.providers.inference.endpoint"]);
}

#[test]
fn all_missing_secrets_are_listed_at_once_with_their_fields() {
    let laptop = Laptop::with(WITH_KEYS);
    let said = laptop.up(&[]);
    expect(
        &said,
        1,
        &[
            "add them to .env",
            "LLSD_VLLM_API_KEY    spec.providers.inference[0].apiKey, in a cluster the key vllm of the Secret keys",
            "LLSD_OPENAI_API_KEY  spec.providers.inference[1].apiKey",
        ],
    );
    laptop.file(".env", "LLSD_VLLM_API_KEY=sk-hunter2\nLLSD_OPENAI_API_KEI=sk-hunter2\n");
    let said = laptop.up(&[]);
    expect(&said, 1, &["LLSD_OPENAI_API_KEI: no field", "did you mean LLSD_OPENAI_API_KEY?"]);
    assert!(!said.stderr.contains("LLSD_VLLM_API_KEY  ") && !said.stderr.contains("hunter2"));
    laptop.file(".env", "LLSD_VLLM_API_KEY=\nLLSD_OPENAI_API_KEY=8675309\n");
    let said = laptop.up(&[]);
    expect(
        &said,
        1,
        &["LLSD_VLLM_API_KEY  ", "LLSD_OPENAI_API_KEY, for spec", "number or boolean"],
    );
    assert!(!said.stderr.contains("8675309"), "{}", said.stderr);
}

#[test]
fn variables_without_effect_are_warned_of() {
    let overrides = "  workload: {overrides: {env: [{name: LLS_WORKERS, value: \"4\"}]}}\n";
    let laptop = Laptop::with(&format!("{WITH_KEYS}{overrides}"));
    laptop.file(".env", "HOME=/hunter2\nLLS_PORT=hunter2\n");
    let said = laptop.up(&[]);
    expect(
        &said,
        1,
        &[
            "LLS_WORKERS has no effect: llsd sets it itself",
            ".env: warning: HOME has no effect: llsd sets it itself\n    → choose the folder",
            ".env: warning: LLS_PORT has no effect: llsd sets it itself\n    → choose another port with --port",
        ],
    );
    assert!(!said.stderr.contains("hunter2"), "{}", said.stderr);
}

#[test]
fn a_broken_line_of_the_env_file_is_said_without_its_value() {
    let laptop = Laptop::with(WITH_KEYS);
    laptop.file("other.env", "LLSD_VLLM_API_KEY sk-hunter2\nA=\"sk-hunter2\nB=1\nB=2\n");
    let said = laptop.up(&["--env-file", "other.env"]);
    let lines =
        ["other.env:1: the line has no `=`", "other.env:2: ", "other.env:4: B is already set"];
    expect(&said, 1, &lines);
    assert!(!said.stderr.contains("hunter2"), "{}", said.stderr);
}

#[test]
fn a_port_that_is_in_use_is_said_before_anything_is_installed() {
    let laptop = Laptop::with(VLLM);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let said = laptop.run(&["-f", "stack.yaml", "--port", &port]);
    expect(&said, 3, &[&format!("the port {port} is in use"), "--port"]);
    assert!(!laptop.folder.path().join(".llsd").exists());
}

#[test]
fn without_python_or_packages_it_says_what_to_install() {
    let laptop = Laptop::with(VLLM);
    expect(&laptop.up(&[]), 3, &["no Python 3.12 or 3.13", "or uv"]);
    laptop.program("python3", "echo 3.9");
    expect(&laptop.up(&[]), 3, &["python3 is 3.9"]);
    let python = laptop.folder.path().join("bin/python3").display().to_string();
    expect(&laptop.up(&["--python", &python]), 3, &["is Python 3.9", "3.12 or 3.13"]);
    expect(&laptop.up(&["--python", "none"]), 3, &["none does not run"]);
    expect(&laptop.up(&["--environment", "none"]), 3, &["none"]);
    laptop.program(
        "uv",
        "[ $1 = --version ] || { echo 'error: Failed to fetch: dns error' >&2; exit 2; }",
    );
    let said = laptop.up(&[]);
    expect(
        &said,
        3,
        &["the package index does not answer", "Failed to fetch", "check the network"],
    );
    let left = fs::read_dir(laptop.folder.path().join(".cache/llsd/up/0.7.3")).unwrap().flatten();
    let mut left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    left.sort();
    assert_eq!(left, ["install.log", "lock"], "nothing half made is left");
}

/// Is this process, or one that it started, still there?
fn is_running(mark: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .any(|words| String::from_utf8_lossy(&words).contains(mark))
}

#[test]
fn a_server_ends_with_all_that_it_started_when_the_command_is_gone() {
    let mark = format!("100000.{}", std::process::id());
    let guard = repository("crates/llsd/src/command/up/guard.py");
    // Like a server with workers, which ignore that they are asked to end.
    let server = format!("trap '' TERM; sleep {mark} & trap - TERM; sleep {mark}");
    let mut guard = Command::new("python3")
        .arg(guard)
        .args(["sh", "-c", &server])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while !is_running(&format!("sleep\0{mark}")) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(guard.stdin.take());
    assert_eq!(guard.wait().unwrap().code(), Some(128 + 15));
    while is_running(&format!("sleep\0{mark}")) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!is_running(&format!("sleep\0{mark}")));
}
