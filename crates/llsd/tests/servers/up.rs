//! `llsd up` runs the real server of a release on loopback, takes a good change over, refuses a bad one, and leaves
//! nothing behind.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use llsd_testkit::{OpenAiStub, Release, free_port};

/// Ten times what an idle machine needs.
const PATIENCE: Duration = Duration::from_mins(3);
const KEY: &str = "sk-of-the-env-file";
const STACK: &str = "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata: {name: demo}\nspec:\n  \
    distribution: {name: starter}\n  workload: {replicas: 2}\n  providers:\n    inference:\n      provider: vllm\n      \
    endpoint: http://vllm:8000\n      apiKey: {name: keys, key: vllm}\n      settings: {max_tokens: 100}\n  \
    resources: {models: [first]}\n";

/// The command, which is ended with the test.
struct Up {
    child: Child,
    folder: tempfile::TempDir,
    port: u16,
}

impl Up {
    fn start(release: Release, endpoint: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let venv = release.install().unwrap();
        let file = |name: &str| folder.path().join(name);
        fs::write(file("stack.yaml"), STACK).unwrap();
        fs::write(file(".env"), format!("LLSD_VLLM_API_KEY={KEY}\n")).unwrap();
        let port = free_port().unwrap();
        let child = Command::new(assert_cmd::cargo::cargo_bin!("llsd"))
            .args(["up", "-f", "stack.yaml", "--watch", "--port", &port.to_string()])
            .args(["--endpoint", &format!("vllm={endpoint}"), "--environment"])
            .arg(venv.bin().parent().unwrap())
            .current_dir(folder.path())
            .env("TIKTOKEN_CACHE_DIR", venv.tokenizers())
            .env("LLSD_CACHE", file("cache"))
            .stdin(Stdio::null())
            .stdout(File::create(file("stdout")).unwrap())
            .stderr(File::create(file("stderr")).unwrap())
            .spawn()
            .unwrap();
        Self { child, folder, port }
    }

    fn said(&self) -> String {
        fs::read_to_string(self.folder.path().join("stderr")).unwrap()
    }

    /// Waits until the command has said these words so many times.
    fn wait(&mut self, words: &str, times: usize) {
        let begun = Instant::now();
        while self.said().matches(words).count() < times {
            let ended = self.child.try_wait().unwrap();
            assert!(
                ended.is_none() && begun.elapsed() < PATIENCE,
                "{words}: {ended:?}\n{}",
                self.said()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn change(&self, from: &str, to: &str) {
        let file = self.folder.path().join("stack.yaml");
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(from));
        fs::write(file, text.replace(from, to)).unwrap();
    }

    fn ask(&self, request: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let length = body.len();
        let head =
            format!("{request} HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\n");
        write!(stream, "{head}Content-Length: {length}\r\n\r\n{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn chat(&self, model: &str) -> String {
        let body = format!(
            r#"{{"model": "vllm/{model}", "messages": [{{"role": "user", "content": "Hi"}}]}}"#
        );
        self.ask("POST /v1/chat/completions", &body)
    }

    /// Whether a server of this command is there.
    fn is_served(&self) -> bool {
        let port = format!("--port\0{}\0", self.port);
        let words = |process: &Path| fs::read(process.join("cmdline")).unwrap_or_default();
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let mut lines =
            processes.map(|it| String::from_utf8_lossy(&words(&it.path())).into_owned());
        lines.any(|line| line.contains("uvicorn") && line.contains(&port))
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_runs_on_one_machine_follows_good_changes_and_leaves_nothing_behind() {
    let release = Release::newest();
    if !release.install_or_skip() {
        return;
    }
    let stub = OpenAiStub::start_with_key(&["first", "second"], KEY).await.unwrap();
    let mut up = Up::start(release, stub.url());
    up.wait("answers on http://127.0.0.1:", 1);
    let said = up.said();
    assert!(said.contains("no effect without a cluster: workload.replicas"), "{said}");
    assert!(said.contains("left out of the base: ") && said.contains("PyTorch"), "{said}");
    assert!(up.chat("first").contains("stub reply"), "{}", up.said());

    up.change("max_tokens: 100", "max_tokens: [many]");
    up.wait("the change is refused; the running server is unaffected", 1);
    assert!(up.said().contains("max_tokens"), "{}", up.said());
    assert!(up.chat("first").contains("stub reply"), "{}", up.said());

    let bad = "{max_tokens: [many]}\n  resources: {models: [first]}";
    up.change(bad, "{max_tokens: 200}\n  resources: {models: [first, second]}");
    up.wait("answers on http://127.0.0.1:", 2);
    assert!(up.chat("second").contains("stub reply"), "{}", up.said());
    assert!(up.folder.path().join(".llsd/demo/.llama").is_dir(), "its state is beside the file");
    assert!(!up.said().contains(KEY), "no secret is shown");

    assert!(up.is_served());
    let process = up.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &process]).status().unwrap().success());
    let ended = up.child.wait().unwrap();
    assert_eq!(ended.code(), Some(0), "{}", up.said());
    assert!(!up.is_served(), "{}", up.said());
}
