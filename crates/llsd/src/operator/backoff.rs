//! How long to wait before the next attempt. Each wait has a random part, so that what failed together
//! is not retried together.

use std::time::Duration;

/// Waits that double with every failure in a row, up to the longest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff {
    pub first: Duration,
    pub longest: Duration,
}

impl Backoff {
    /// How long to wait after this many failures in a row.
    pub(super) fn delay(self, failures: u32) -> Duration {
        let doubled = self.first.saturating_mul(1 << failures.saturating_sub(1).min(16));
        jittered(doubled.min(self.longest), 0.25)
    }
}

/// The wait, longer by up to this share of it.
pub(super) fn jittered(wait: Duration, share: f64) -> Duration {
    wait.mul_f64(1.0 + share * fastrand::f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_are_up_to_a_quarter_longer() {
        let [first, longest] = [1, 30].map(Duration::from_secs);
        let backoff = Backoff { first, longest };
        for (failures, seconds) in [(0, 1), (1, 1), (2, 2), (5, 16), (6, 30), (u32::MAX, 30)] {
            let (delay, least) = (backoff.delay(failures), Duration::from_secs(seconds));
            assert!(delay >= least && delay <= least.mul_f64(1.25), "{failures}: {delay:?}");
        }
    }
}
