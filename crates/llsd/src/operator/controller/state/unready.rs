//! How often a server that is not ready is looked at. What becomes of its Deployment is watched, but what is in the way
//! of its pods is not: a watch of all pods would cost a cluster of thousands of healthy servers more than these looks
//! cost a few that are not (docs/performance.md compares the two).

use std::time::Duration;

use tokio::time::Instant;

/// The longer nothing new is seen, the less often it is looked, up to this time: thousands of servers may be waiting for
/// one thing, and a container that crashes all the time is started again every five minutes, too.
const RARELY: Duration = Duration::from_mins(5);

/// From one look to the next, as a part of the time for which nothing new was seen.
const PART: u32 = 4;

/// More kinds of trouble than a pod has.
const MOST_KINDS: usize = 16;

/// Since when a server is not ready, and what was seen meanwhile.
#[derive(Debug, PartialEq, Eq)]
pub struct Unready {
    since: Instant,
    /// The Deployment's generation.
    generation: Option<i64>,
    /// Kinds of trouble of its pods, since that generation.
    kinds: Vec<Box<str>>,
    /// Since when nothing new was seen.
    quiet_since: Instant,
}

impl Unready {
    /// After this time without readiness it is asked why; so long it is from one look to the next at least.
    pub const PATIENCE: Duration = Duration::from_secs(10);

    pub fn new(now: Instant) -> Self {
        Self { since: now, generation: None, kinds: Vec::new(), quiet_since: now }
    }

    pub fn lasts(&self, now: Instant) -> Duration {
        now.duration_since(self.since)
    }

    /// Notes what is seen; for how long nothing of it was new. Another template is new, and so is trouble of a kind that
    /// its pods had not had. That a crash and the pause after it take turns is not.
    pub fn see(&mut self, now: Instant, generation: i64, trouble: Option<&str>) -> Duration {
        if self.generation != Some(generation) {
            self.generation = Some(generation);
            self.kinds.clear();
            self.quiet_since = now;
        }
        let kind = trouble.map(|trouble| trouble.split(':').next().unwrap_or(trouble));
        if let Some(kind) = kind
            && self.kinds.len() < MOST_KINDS
            && !self.kinds.iter().any(|known| **known == *kind)
        {
            self.kinds.push(kind.into());
            self.quiet_since = now;
        }
        now.duration_since(self.quiet_since)
    }

    /// How long it is until the next look at a server of which nothing new was seen for so long.
    pub fn next_look(quiet: Duration) -> Duration {
        (quiet / PART).clamp(Self::PATIENCE, RARELY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    /// How many looks there are in this time, where each sees this.
    fn looks(time: Duration, mut trouble: impl FnMut(usize) -> Option<&'static str>) -> usize {
        let begun = Instant::now();
        let (mut unready, mut now, mut looks) = (Unready::new(begun), begun, 0);
        while now.duration_since(begun) < time {
            now += Unready::next_look(unready.see(now, 1, trouble(looks)));
            looks += 1;
        }
        looks
    }

    #[test]
    fn a_server_that_is_not_ready_for_long_is_looked_at_less_and_less_often() {
        let unschedulable = |_| Some("Unschedulable: 0/3 nodes are available");
        assert!(looks(MINUTE, unschedulable) >= 5, "at first it is looked often");
        let hour = looks(MINUTE * 60, unschedulable);
        assert!(hour <= 30, "instead of 360: {hour}");
        let day = looks(MINUTE * 60 * 24, unschedulable) - hour;
        assert_eq!(day, 23 * 12, "every five minutes at last");
    }

    #[test]
    fn trouble_of_another_kind_is_looked_at_as_often_as_the_first() {
        let begun = Instant::now();
        let mut unready = Unready::new(begun);
        let later = begun + MINUTE * 60;
        assert_eq!(unready.see(begun, 1, Some("Unschedulable: no room")), Duration::ZERO);
        assert_eq!(unready.see(later, 1, Some("Unschedulable: other words")), MINUTE * 60);
        assert_eq!(
            unready.see(later, 1, Some("ImagePullBackOff (llama-stack): x")),
            Duration::ZERO
        );
        assert_eq!(unready.lasts(later), MINUTE * 60);
        assert_eq!(unready.see(later + MINUTE, 2, None), Duration::ZERO, "another template");
        let again = unready.see(later + MINUTE * 2, 2, Some("Unschedulable: no room"));
        assert_eq!(again, Duration::ZERO, "its pods had no trouble yet");
    }

    #[test]
    fn a_container_that_crashes_again_and_again_is_not_news_each_time() {
        let crashes =
            |look: usize| look.is_multiple_of(2).then_some("CrashLoopBackOff (llama-stack): x");
        let hour = looks(MINUTE * 60, crashes);
        assert!(hour <= 30, "{hour}");
    }
}
