//! The proxy's log: plain lines on stderr, of fixed phrases and the target's address only. However
//! often clients come while Redis is away, each kind of failure gets a line in ten seconds.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::failure::Failure;

const PAUSE: Duration = Duration::from_secs(10);

/// Remembers what was logged when.
#[derive(Debug, Default)]
pub(super) struct Journal {
    memory: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    logged: BTreeMap<Failure, Logged>,
    /// A failure of Redis was the last that the log had to say of it.
    away: bool,
}

#[derive(Debug)]
struct Logged {
    at: Instant,
    unlogged: u64,
}

impl Journal {
    /// A client could not be served from `target`.
    pub(super) fn failed(&self, target: &impl Display, failure: Failure) {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(unlogged) = memory.admit(failure, Instant::now()) else { return };
        let more = match unlogged {
            0 => String::new(),
            count => format!(" ({count} more since this was last said)"),
        };
        line(&format!("cannot serve from {target}: {failure}{more}"));
    }

    /// A client is being served from `target`.
    pub(super) fn served(&self, target: &impl Display) {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut memory.away) {
            line(&format!("{target} serves again"));
        }
    }
}

impl Memory {
    /// Whether to log it now; if so, how many were left out since the last time.
    fn admit(&mut self, failure: Failure, now: Instant) -> Option<u64> {
        if let Some(last) = self.logged.get_mut(&failure)
            && now.duration_since(last.at) < PAUSE
        {
            last.unlogged += 1;
            return None;
        }
        // The proxy's own limits say nothing of Redis, so there is no coming back from them.
        self.away |= !matches!(failure, Failure::ProxyFull | Failure::Accept);
        let before = self.logged.insert(failure, Logged { at: now, unlogged: 0 });
        Some(before.map_or(0, |last| last.unlogged))
    }
}

/// One line. A log that nobody can read any more is no reason to end, as `eprintln!` would.
pub(super) fn line(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "llsd redis-proxy: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_failure_is_said_once_in_a_while() {
        let (mut memory, start) = (Memory::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(memory.admit(Failure::Closed, start), Some(0));
        for second in 1..10 {
            assert_eq!(memory.admit(Failure::Closed, after(second)), None);
        }
        assert_eq!(memory.admit(Failure::WrongPassword, after(5)), Some(0));
        assert_eq!(memory.admit(Failure::Closed, after(10)), Some(9));
        assert_eq!(memory.admit(Failure::Closed, after(20)), Some(0));
    }

    #[test]
    fn the_limit_of_the_proxy_is_not_mistaken_for_a_redis_that_is_down() {
        let mut memory = Memory::default();
        memory.admit(Failure::ProxyFull, Instant::now());
        assert!(!memory.away);
        memory.admit(Failure::ConnectionRefused, Instant::now());
        assert!(memory.away);
    }
}
