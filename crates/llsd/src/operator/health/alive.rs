//! The heartbeat of a loop: the loop beats, and the probe asks how long ago.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, interval};

/// The heartbeat of one loop. Clones share it.
#[derive(Clone, Debug)]
pub struct Alive {
    limit: Duration,
    began: Instant,
    /// In milliseconds since it began.
    last_beat: Arc<AtomicU64>,
}

impl Alive {
    /// A loop that beats now, and is taken for stuck when it has not for longer than `limit`.
    pub fn new(limit: Duration) -> Self {
        Self { limit, began: Instant::now(), last_beat: Arc::default() }
    }

    pub fn beat(&self) {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_beat.fetch_max(now, Ordering::Relaxed);
    }

    /// Beats four times within the limit as long as it is polled. Belongs beside the work in the
    /// same task, where it is not polled when the work blocks.
    pub async fn keep_beating(&self) {
        let mut ticks = interval(self.limit / 4);
        loop {
            ticks.tick().await;
            self.beat();
        }
    }

    pub fn limit(&self) -> Duration {
        self.limit
    }

    pub fn silent_for(&self) -> Duration {
        let last_beat = Duration::from_millis(self.last_beat.load(Ordering::Relaxed));
        self.began.elapsed().saturating_sub(last_beat)
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use super::*;

    const SHORT: Duration = Duration::from_millis(40);

    #[test]
    fn silence_is_counted_from_the_last_beat() {
        let alive = Alive::new(SHORT);
        sleep(SHORT * 2);
        let silence = alive.silent_for();
        assert!(silence >= SHORT * 2);
        alive.clone().beat();
        assert!(alive.silent_for() < silence);
    }

    #[tokio::test]
    async fn a_loop_that_is_polled_goes_on_beating() {
        let alive = Alive::new(SHORT);
        let _ = tokio::time::timeout(SHORT * 4, alive.keep_beating()).await;
        assert!(alive.last_beat.load(Ordering::Relaxed) >= 100);
    }
}
