//! How a process ends when it is asked to. Each test runs this very program again, as the one that
//! is sent signals.

use std::io::{self, BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use llsd::operator::shutdown::Shutdown;
use llsd::operator::telemetry::logs::{Format, init};

const MANNER: &str = "LLSD_TEST_MANNER_OF_ENDING";

/// The process that is asked to end: says when it is ready and when it was asked, and ends at once,
/// or never.
#[test]
fn process() {
    let Ok(manner) = std::env::var(MANNER) else { return };
    init(Format::Text, "info", None).unwrap();
    let deadline =
        Duration::from_secs(if manner == "at once" || manner == "never" { 60 } else { 1 });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (trigger, shutdown) = Shutdown::on_signals(deadline).unwrap();
        if manner == "by itself" {
            trigger.request();
        }
        println!("\nready");
        shutdown.requested().await;
        println!("asked");
        match manner.as_str() {
            "at once" => {}
            // The runtime itself is stuck, and takes no signal any more.
            "late" => std::thread::sleep(Duration::from_mins(2)),
            _ => std::future::pending().await,
        }
    });
}

struct Process {
    child: Child,
    says: BufReader<ChildStdout>,
}

impl Process {
    fn start(manner: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "shutdown_signals::process", "--nocapture"])
            .env(MANNER, manner)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let says = BufReader::new(child.stdout.take().unwrap());
        let mut process = Self { child, says };
        process.hear("ready");
        process
    }

    fn hear(&mut self, word: &str) {
        let mut line = String::new();
        while line.trim() != word {
            line.clear();
            assert_ne!(self.says.read_line(&mut line).unwrap(), 0, "it never said {word}");
        }
    }

    fn send(&self, signal: &str) {
        let id = self.child.id().to_string();
        // The shell's own `kill`: minimal images have no such command.
        let sent =
            Command::new("sh").args(["-c", r#"kill -"$1" "$2""#, "send", signal, &id]).status();
        assert!(sent.unwrap().success());
    }

    /// Its exit code and its log.
    fn end(mut self) -> (Option<i32>, String) {
        // The test harness has last words of its own, which somebody must hear.
        io::copy(&mut self.says, &mut io::sink()).unwrap();
        let output = self.child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }
}

#[test]
fn both_signals_ask_for_an_end_in_good_order() {
    for signal in ["TERM", "INT"] {
        let mut process = Process::start("at once");
        process.send(signal);
        process.hear("asked");
        let (code, log) = process.end();
        assert_eq!(code, Some(0), "{log}");
        assert!(log.contains(&format!("asked to end signal=\"SIG{signal}\"")), "{log}");
    }
}

#[test]
fn a_second_signal_ends_what_does_not_end() {
    let mut process = Process::start("never");
    process.send("TERM");
    process.hear("asked");
    process.send("INT");
    let (code, log) = process.end();
    assert_eq!(code, Some(1));
    assert!(log.contains("asked to end again"), "{log}");
}

#[test]
fn a_deadline_ends_a_process_that_is_stuck() {
    let mut process = Process::start("late");
    process.send("TERM");
    process.hear("asked");
    let asked = Instant::now();
    let (code, log) = process.end();
    assert_eq!(code, Some(1));
    assert!(asked.elapsed() < Duration::from_secs(30));
    assert!(log.contains("did not end in time"), "{log}");
}

#[test]
fn a_deadline_ends_also_what_was_not_ended_by_a_signal() {
    let mut process = Process::start("by itself");
    process.hear("asked");
    let (code, log) = process.end();
    assert_eq!(code, Some(1));
    assert!(log.contains("did not end in time"), "{log}");
}
