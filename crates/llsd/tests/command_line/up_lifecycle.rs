//! `llsd up` from the start of a server to its end, also where the server hangs, ends, or finds its port taken. The server
//! is a few lines of Python; `servers/up.rs` runs a real one.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use llsd_testkit::free_port;

/// Ten times what a busy machine needs.
const PATIENCE: Duration = Duration::from_mins(1);
const STACK: &str = "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata: {name: demo}\nspec:\n  \
    distribution: {name: starter}\n  providers: {inference: {provider: vllm, endpoint: \"http://127.0.0.1:1\"}}\n";
const ANSWER: &[u8] = b"HTTP/1.0 200 OK\r\n\r\n";

/// The Python of an environment: instead of a server's own code it runs the one below.
const PYTHON: &str = r#"#!/bin/sh
case "$1" in
*installed_types.py) echo '[]' ;;
*preflight.py) echo '{"verdict": "good", "problems": []}' ;;
*launch.py) exec python3 "$(dirname "$0")/server.py" ;;
*) exec python3 "$@" ;;
esac
"#;
/// Its files show how far it is. It takes a second to end.
const SERVER: &str = r#"
import os, signal, socket, sys, time

mode = os.environ.get("MODE", "")


def end(*_):
    time.sleep(1)
    open("ended" + mode, "w").close()
    sys.exit(0)


signal.signal(signal.SIGTERM, end)
open("started" + mode, "w").close()
while mode == "hangs":
    time.sleep(1)
while mode == "waits" and not os.path.exists("go"):
    time.sleep(0.05)
listener = socket.create_server(("127.0.0.1", int(os.environ["LLS_PORT"])))
while True:
    connection, _ = listener.accept()
    if b" /end " in connection.recv(1000):
        sys.exit(3)
    connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n")
    connection.close()
"#;

/// The command, which is ended with the test.
struct Up {
    child: Child,
    folder: tempfile::TempDir,
    port: u16,
}

impl Up {
    fn start(mode: &str, more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        fs::create_dir_all(file("environment/bin")).unwrap();
        fs::write(file("environment/bin/server.py"), SERVER).unwrap();
        fs::write(file("environment/bin/python"), PYTHON).unwrap();
        let runs = fs::Permissions::from_mode(0o755);
        fs::set_permissions(file("environment/bin/python"), runs).unwrap();
        fs::write(file("stack.yaml"), STACK).unwrap();
        fs::write(file(".env"), format!("MODE={mode}\n")).unwrap();
        let port = free_port().unwrap();
        let child = Command::new(assert_cmd::cargo::cargo_bin!("llsd"))
            .args(["up", "-f", "stack.yaml", "--environment", "environment"])
            .args(["--port", &port.to_string()])
            .args(more)
            .current_dir(folder.path())
            .env("LLSD_CACHE", "cache")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(file("stderr")).unwrap())
            .spawn()
            .unwrap();
        Self { child, folder, port }
    }

    fn said(&self) -> String {
        fs::read_to_string(self.folder.path().join("stderr")).unwrap()
    }

    fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let begun = Instant::now();
        while !is_so(self) {
            let ended = self.child.try_wait().unwrap();
            let waits = ended.is_none() && begun.elapsed() < PATIENCE;
            assert!(waits, "{what}: {ended:?}\n{}", self.said());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the command has said these words so many times.
    fn says(&mut self, words: &str, times: usize) {
        self.until(words, |up| up.said().matches(words).count() >= times);
    }

    /// Whether the server has made a file, in the folder of its data.
    fn has(&self, file: &str) -> bool {
        self.folder.path().join(".llsd/demo").join(file).exists()
    }

    /// Replaces a file at once: half a file would be a change of its own.
    fn write(&self, file: &str, text: &str) {
        let (new, file) = (self.folder.path().join("new"), self.folder.path().join(file));
        fs::write(&new, text).unwrap();
        fs::rename(new, file).unwrap();
    }

    /// As Ctrl-C does.
    fn interrupt(&mut self) -> ExitStatus {
        send("-INT", &self.child);
        self.child.wait().unwrap()
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn send(signal: &str, child: &Child) {
    let process = child.id().to_string();
    assert!(Command::new("kill").args([signal, &process]).status().unwrap().success());
}

#[test]
fn a_change_is_taken_up_while_a_server_hangs_at_its_start() {
    let mut up = Up::start("", &["--watch"]);
    up.says("demo answers on", 1);
    up.write(".env", "MODE=hangs\n");
    up.until("the start", |up| up.has("startedhangs"));
    up.write(".env", "MODE=again\n");
    up.says("demo answers on", 2);
    assert!(up.has("endedhangs") && up.has("startedagain"), "{}", up.said());
}

#[test]
fn a_change_during_a_start_that_is_refused_brings_the_previous_server_back() {
    let mut up = Up::start("", &["--watch"]);
    up.says("demo answers on", 1);
    up.write(".env", "MODE=hangs\n");
    up.until("the start", |up| up.has("startedhangs"));
    up.write("stack.yaml", &STACK.replace("endpoint:", "endpont:"));
    up.says("the change is refused; starting the previous server", 1);
    up.says("demo answers on", 2);
}

#[test]
fn the_server_has_ended_when_ctrl_c_ends_the_command_during_a_start() {
    let mut first = Up::start("hangs", &[]);
    first.until("the start", |up| up.has("startedhangs"));
    assert_eq!(first.interrupt().code(), Some(0), "{}", first.said());
    assert!(first.has("endedhangs"), "{}", first.said());

    let mut changed = Up::start("", &["--watch"]);
    changed.says("demo answers on", 1);
    changed.write(".env", "MODE=hangs\n");
    changed.until("the start", |up| up.has("startedhangs"));
    assert_eq!(changed.interrupt().code(), Some(0), "{}", changed.said());
    assert!(changed.has("ended") && changed.has("endedhangs"), "{}", changed.said());
}

#[test]
fn the_answer_of_another_program_is_not_taken_for_the_servers() {
    let mut up = Up::start("waits", &[]);
    up.until("the start", |up| up.has("startedwaits"));
    let other = TcpListener::bind(("127.0.0.1", up.port)).unwrap();
    let (answered, answers) = mpsc::channel();
    thread::spawn(move || {
        for mut stream in other.incoming().flatten() {
            let read = stream.read(&mut [0; 1000]).unwrap_or_default();
            if read > 0 && stream.write_all(ANSWER).is_ok() {
                let _ = answered.send(());
            }
        }
    });
    answers.recv_timeout(PATIENCE).unwrap();
    up.write(".llsd/demo/go", "");
    let ended = up.child.wait().unwrap();
    assert_eq!(ended.code(), Some(1), "{}", up.said());
    assert!(up.said().contains("before it answered"), "{}", up.said());
    assert!(!up.said().contains("demo answers on"), "{}", up.said());
}

#[test]
fn a_new_name_makes_another_server_with_data_of_its_own() {
    let mut up = Up::start("", &["--watch"]);
    up.says("demo answers on", 1);
    up.write("stack.yaml", &STACK.replace("demo", "other"));
    up.says("other answers on", 1);
    assert!(up.folder.path().join(".llsd/other/started").exists(), "{}", up.said());
}

#[test]
fn a_refused_change_is_not_said_to_spare_a_server_that_has_ended() {
    let mut up = Up::start("", &["--watch"]);
    up.says("demo answers on", 1);
    let mut stream = TcpStream::connect(("127.0.0.1", up.port)).unwrap();
    stream.write_all(b"GET /end HTTP/1.0\r\n\r\n").unwrap();
    up.says("the server ended with exit status: 3; waiting for a change", 1);
    up.write("stack.yaml", &STACK.replace("endpoint:", "endpont:"));
    up.says("the change is refused; no server runs", 1);
    assert!(!up.said().contains("unaffected"), "{}", up.said());
    up.write("stack.yaml", &format!("{STACK}# as it was\n"));
    up.says("demo answers on", 2);
}

#[test]
fn a_signal_ends_the_command_while_it_reads_stdin() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("llsd"))
        .args(["up", "-f", "-"])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Long enough that it waits for the end of stdin.
    thread::sleep(Duration::from_millis(500));
    // Not the signal of Ctrl-C, which tests in the background of a shell ignore. Both are handled alike.
    send("-TERM", &child);
    let begun = Instant::now();
    let ended = loop {
        match child.try_wait().unwrap() {
            Some(ended) => break Some(ended),
            None if begun.elapsed() > Duration::from_secs(20) => break None,
            None => thread::sleep(Duration::from_millis(20)),
        }
    };
    let _ = child.kill();
    let _ = child.wait();
    assert_eq!(ended.and_then(|ended| ended.signal()), Some(15), "{ended:?}");
}
