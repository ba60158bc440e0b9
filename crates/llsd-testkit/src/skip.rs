//! Tests that cannot run here say so where nobody can miss it, and never in silence.

use std::{
    io::Write,
    sync::atomic::{AtomicUsize, Ordering},
};

/// Why something that tests run against cannot be had on this machine.
#[derive(Debug, Clone)]
pub struct Unobtainable(pub String);

impl std::fmt::Display for Unobtainable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unobtainable {}

static SKIPPED: AtomicUsize = AtomicUsize::new(0);

/// How many tests of this process were skipped for want of what they run against.
pub fn skipped() -> usize {
    SKIPPED.load(Ordering::Relaxed)
}

/// The name of the test that asks: libtest gives it to the thread on which a test runs, and tokio's
/// tests run on that thread too.
pub fn test_name() -> String {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or_default();
    name.rsplit("::").next().unwrap_or_default().to_owned()
}

/// One line for a skipped test on standard error. With `CI=true` a panic: there, a test that did not
/// run is a test that failed.
pub fn skip(why: &str) {
    let line = format!("SKIPPED {}: {why}", test_name());
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{line}");
    SKIPPED.fetch_add(1, Ordering::Relaxed);
    // Not `eprintln!`, which the test harness swallows for tests that pass.
    let _ = writeln!(std::io::stderr(), "{}", line.replace('\n', " "));
}

/// What was started. `None`, said loudly, where it cannot be had on this machine; a panic when it
/// can and did not start.
pub fn started_or_skipped<T>(started: anyhow::Result<T>) -> Option<T> {
    match started {
        Ok(started) => Some(started),
        Err(error) => match error.downcast_ref::<Unobtainable>() {
            Some(why) => {
                skip(&why.to_string());
                None
            }
            None => panic!("{error:#}"),
        },
    }
}
