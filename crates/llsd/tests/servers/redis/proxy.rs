//! The proxy as the process that it is in a pod. Whatever it says is kept, and searched for secrets
//! when it ends.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{Client, tells_a_secret};

/// The built program without anything of this process's environment that it would read.
pub(crate) fn llsd() -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("llsd"));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("LLSD_") || name.starts_with("SSL_CERT_") {
            command.env_remove(&*name);
        }
    }
    command
}

pub(crate) struct Proxy {
    child: Child,
    log: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
    pub(crate) address: SocketAddr,
}

impl Proxy {
    pub(crate) fn start(target: &str, password: Option<&str>, flags: &[&str]) -> Self {
        Self::start_trusting(target, password, flags, None)
    }

    pub(crate) fn start_trusting(
        target: &str,
        password: Option<&str>,
        flags: &[&str],
        authorities: Option<&Path>,
    ) -> Self {
        let mut command = llsd();
        command.args(["redis-proxy", "--listen", "127.0.0.1:0", "--target", target]).args(flags);
        command.envs(password.map(|password| ("LLSD_STORAGE_KV_PASSWORD", password)));
        command.envs(authorities.map(|file| ("SSL_CERT_FILE", file)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut first = String::new();
        stderr.read_line(&mut first).unwrap();
        let address = first.split("listening on ").nth(1).unwrap_or_else(|| panic!("{first}"));
        let address = address.split(' ').next().unwrap().parse().unwrap();
        let log = Arc::new(Mutex::new(first));
        let lines = Arc::clone(&log);
        let reader = std::thread::spawn(move || {
            for line in stderr.lines() {
                lines.lock().unwrap().extend([line.unwrap(), "\n".to_owned()]);
            }
        });
        Self { child, log, reader: Some(reader), address }
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.address)
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Waits until the log says so.
    pub(crate) fn wait_for_log(&self, words: &str) {
        let start = Instant::now();
        while !self.log().contains(words) {
            assert!(start.elapsed() < Duration::from_secs(30), "{words:?} not in:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What `llsd redis-proxy --check` finds: its exit code and what it says.
    pub(crate) fn check(&self) -> (i32, String) {
        let address = self.address.to_string();
        let checked =
            llsd().args(["redis-proxy", "--check", "--listen", &address]).output().unwrap();
        assert!(checked.stdout.is_empty());
        (checked.status.code().unwrap(), String::from_utf8(checked.stderr).unwrap())
    }

    pub(crate) fn terminate(&self) {
        let id = self.child.id().to_string();
        // The shell's own `kill`: minimal images have no such command.
        let sent = Command::new("sh").args(["-c", r#"kill -TERM "$1""#, "sh", &id]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits for the end that was ordered before; the log's last word.
    pub(crate) fn ended(mut self) -> (ExitStatus, String) {
        let status = self.child.wait().unwrap();
        self.reader.take().unwrap().join().unwrap();
        let mut stdout = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        assert_eq!(stdout, "");
        let log = self.log();
        assert!(!tells_a_secret(&log), "{log}");
        (status, log)
    }

    /// Ends it as Kubernetes does; the whole log.
    pub(crate) fn end(self) -> String {
        self.terminate();
        let (status, log) = self.ended();
        assert!(status.success(), "{status}: {log}");
        log
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
