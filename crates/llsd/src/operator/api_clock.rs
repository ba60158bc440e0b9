//! The time by the API server's clock, which dates all objects. An operator whose own clock goes wrong by
//! minutes would call a preflight late that has just begun, or a template good that has not run yet.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use http::HeaderMap;
use http::header::DATE;
use k8s_openapi::jiff::fmt::rfc2822;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::Client;

/// Answers say whole seconds and take a moment to arrive: within this the clocks agree.
const TOLERANCE: i64 = 2;

/// How far the API server's clock is ahead of ours, in seconds.
#[derive(Clone, Debug, Default)]
pub struct ApiClock(Arc<AtomicI64>);

/// A client of the API server, and the clock that its answers set.
#[derive(Clone)]
pub struct ApiServer {
    pub client: Client,
    pub clock: ApiClock,
}

impl ApiClock {
    pub fn now(&self) -> Timestamp {
        let ahead = SignedDuration::from_secs(self.0.load(Ordering::Relaxed));
        let now = Timestamp::now();
        now.checked_add(ahead).unwrap_or(now)
    }

    /// Reads the time from the head of an answer that has just arrived.
    pub fn read(&self, head: &HeaderMap) {
        let date = head.get(DATE).and_then(|date| date.to_str().ok());
        if let Some(date) = date.and_then(|date| rfc2822::parse(date).ok()) {
            self.set(date.timestamp(), Timestamp::now());
        }
    }

    fn set(&self, server: Timestamp, ours: Timestamp) {
        let ahead = server.as_second() - ours.as_second();
        let known = self.0.load(Ordering::Relaxed);
        // What is right to within the tolerance stays, or the time would jump with every answer.
        if (ahead - known).abs() > TOLERANCE {
            self.0.store(if ahead.abs() > TOLERANCE { ahead } else { 0 }, Ordering::Relaxed);
            tracing::info!(seconds = ahead, "the API server's clock is ahead of ours by");
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn the_time_is_the_api_servers() {
        let clock = ApiClock::default();
        let mut head = HeaderMap::new();
        clock.read(&head);
        assert!((clock.now() - Timestamp::now()).get_seconds().abs() <= 1);
        head.insert(DATE, HeaderValue::from_static("Sun, 06 Nov 1994 08:49:37 GMT"));
        clock.read(&head);
        assert!((clock.now().as_second() - 784_111_777).abs() <= 1, "{}", clock.now());
        head.insert(DATE, HeaderValue::from_static("soon"));
        clock.read(&head);
        assert!((clock.now().as_second() - 784_111_777).abs() <= 1, "it stays");
    }

    #[test]
    fn a_second_more_or_less_is_the_same_time() {
        let clock = ApiClock::default();
        let second = |second| Timestamp::from_second(second).unwrap();
        let ahead = |server| {
            clock.set(second(server), second(1000));
            clock.0.load(Ordering::Relaxed)
        };
        assert_eq!([1002, 998, 1600, 1598, 1602, 1603].map(ahead), [0, 0, 600, 600, 600, 603]);
        assert_eq!(ahead(1001), 0, "set right");
    }
}
