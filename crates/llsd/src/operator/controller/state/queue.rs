//! Which resources wait to be reconciled, and when. A resource is worked on by one worker at a time;
//! what happens to it meanwhile brings it back once. Failures wait longer each time.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use llsd_plan::resource::Key;

use crate::operator::backoff::Backoff;

/// What becomes of a resource after a reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing, until something changes.
    Rest,
    /// Once more after this time, if nothing changes before.
    After(Duration),
    /// Somebody was asked, and the answer wakes it; once more after this time even so. What failed before
    /// counts on.
    Await(Duration),
    /// Something was in the way; again soon, and later each time.
    Retry,
}

impl Next {
    /// The same, but not later than after this time, if there is one. What is tried again is soon enough.
    #[must_use]
    pub fn at_latest_after(self, latest: Option<Duration>) -> Self {
        match (self, latest) {
            (Self::Rest, Some(latest)) => Self::After(latest),
            (Self::After(delay), Some(latest)) => Self::After(delay.min(latest)),
            (Self::Await(delay), Some(latest)) => Self::Await(delay.min(latest)),
            (next, _) => next,
        }
    }
}

const RETRY: Backoff =
    Backoff { first: Duration::from_millis(500), longest: Duration::from_mins(1) };

#[derive(Debug, Default)]
pub struct Queue {
    state: Mutex<QueueState>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct QueueState {
    due: BTreeSet<(Instant, Key)>,
    slots: HashMap<Key, Slot>,
}

#[derive(Debug, Default)]
struct Slot {
    /// When it is due; it then also stands in `QueueState::due`.
    due: Option<Instant>,
    in_flight: bool,
    /// Since when something waits to be looked at.
    since: Option<Instant>,
    /// When something happened first while it was worked on.
    again: Option<Instant>,
    failures: u32,
}

impl Queue {
    /// Something about this resource changed.
    pub fn add(&self, key: &Key) {
        let now = Instant::now();
        let mut state = self.lock();
        state.schedule(key, now);
        if let Some(slot) = state.slots.get_mut(key).filter(|slot| !slot.in_flight) {
            slot.since.get_or_insert(now);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Queues a resource that changed: it does not wait for what failed before the change.
    pub fn add_changed(&self, key: &Key) {
        if let Some(slot) = self.lock().slots.get_mut(key) {
            slot.failures = 0;
        }
        self.add(key);
    }

    /// The next resource that is due; it is then in the caller's hands until [`done`](Self::done).
    pub async fn next(&self) -> Key {
        loop {
            let wait = {
                let mut state = self.lock();
                match state.due.first() {
                    Some((at, _)) if *at <= Instant::now() => return state.take(),
                    Some((at, _)) => Some(*at),
                    None => None,
                }
            };
            match wait {
                Some(at) => tokio::select! {
                    () = sleep_until(at) => {}
                    () = self.changed.notified() => {}
                },
                None => self.changed.notified().await,
            }
        }
    }

    /// The caller is done with a resource.
    pub fn done(&self, key: &Key, next: Next) {
        let mut state = self.lock();
        let slot = state.slots.entry(key.clone()).or_default();
        slot.in_flight = false;
        let again = slot.again.take();
        slot.since = again;
        let now = Instant::now();
        let at = match next {
            Next::Retry => {
                slot.failures = slot.failures.saturating_add(1);
                Some(now + RETRY.delay(slot.failures))
            }
            Next::After(delay) => {
                slot.failures = 0;
                Some(now + delay)
            }
            Next::Await(delay) => Some(now + delay),
            Next::Rest => {
                slot.failures = 0;
                None
            }
        };
        if again.is_some() {
            state.schedule(key, now);
        }
        if let Some(at) = at {
            state.schedule(key, at);
        } else if state.slots.get(key).is_some_and(Slot::is_idle) {
            state.slots.remove(key);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Whether any wait now.
    pub fn is_busy(&self) -> bool {
        self.lock().due.first().is_some_and(|(at, _)| *at <= Instant::now())
    }

    /// How many wait now.
    pub fn waiting(&self) -> usize {
        let now = Instant::now();
        self.lock().due.iter().take_while(|(at, _)| *at <= now).count()
    }

    /// How long the oldest change has waited, to be taken or while it is worked on.
    pub fn oldest(&self) -> Duration {
        let state = self.lock();
        let due = state.due.first().map(|(at, _)| *at).filter(|at| *at <= Instant::now());
        let since = state.slots.values().filter_map(|slot| slot.since);
        since.chain(due).min().map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueState {
    fn schedule(&mut self, key: &Key, at: Instant) {
        let slot = self.slots.entry(key.clone()).or_default();
        if slot.in_flight {
            slot.again.get_or_insert(at);
            return;
        }
        match slot.due {
            Some(due) if due <= at => return,
            Some(due) => drop(self.due.remove(&(due, key.clone()))),
            None => {}
        }
        slot.due = Some(at);
        self.due.insert((at, key.clone()));
    }

    fn take(&mut self) -> Key {
        let (_, key) = self.due.pop_first().expect("the caller saw one");
        let slot = self.slots.entry(key.clone()).or_default();
        slot.due = None;
        slot.in_flight = true;
        key
    }
}

impl Slot {
    fn is_idle(&self) -> bool {
        self.due.is_none() && !self.in_flight && self.again.is_none() && self.failures == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key::new("ns", name)
    }

    async fn nothing_due(queue: &Queue) -> bool {
        tokio::time::timeout(Duration::from_millis(1), queue.next()).await.is_err()
    }

    #[test]
    fn a_look_is_not_later_than_it_is_asked_for() {
        let seconds = Duration::from_secs;
        let at_latest = |next: Next| next.at_latest_after(Some(seconds(60)));
        assert_eq!(at_latest(Next::Rest), Next::After(seconds(60)));
        assert_eq!(at_latest(Next::After(seconds(300))), Next::After(seconds(60)));
        assert_eq!(at_latest(Next::After(seconds(10))), Next::After(seconds(10)));
        assert_eq!(at_latest(Next::Await(seconds(300))), Next::Await(seconds(60)));
        assert_eq!(at_latest(Next::Retry), Next::Retry);
        assert_eq!(Next::Rest.at_latest_after(None), Next::Rest);
    }

    #[tokio::test(start_paused = true)]
    async fn what_happens_during_a_reconcile_brings_the_resource_back_once() {
        let queue = Queue::default();
        queue.add(&key("a"));
        queue.add(&key("a"));
        assert_eq!(queue.next().await, key("a"));
        assert!(nothing_due(&queue).await);
        queue.add(&key("a"));
        queue.add(&key("a"));
        assert!(nothing_due(&queue).await, "one worker at a time");
        queue.done(&key("a"), Next::Rest);
        assert_eq!(queue.next().await, key("a"));
        queue.done(&key("a"), Next::Rest);
        assert!(nothing_due(&queue).await);
        assert!(queue.lock().slots.is_empty(), "a resource at rest costs nothing");
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_waits_until_somebody_has_looked_at_it() {
        let queue = Queue::default();
        assert_eq!(queue.oldest(), Duration::ZERO);
        queue.add(&key("a"));
        tokio::time::advance(Duration::from_secs(5)).await;
        queue.add(&key("a"));
        let taken = queue.next().await;
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(queue.oldest().as_secs(), 10, "it is not done yet");
        queue.add(&key("a"));
        tokio::time::advance(Duration::from_secs(1)).await;
        queue.done(&taken, Next::Rest);
        assert_eq!(queue.oldest().as_secs(), 1, "what happened meanwhile waits");
        let taken = queue.next().await;
        queue.done(&taken, Next::After(Duration::from_mins(1)));
        tokio::time::advance(Duration::from_secs(59)).await;
        assert_eq!(queue.oldest(), Duration::ZERO, "a timer is no change");
        tokio::time::advance(Duration::from_secs(4)).await;
        assert_eq!(queue.oldest().as_secs(), 3, "and is late when nobody takes it");
    }

    #[tokio::test(start_paused = true)]
    async fn the_earliest_time_counts() {
        let queue = Queue::default();
        let begun = Instant::now();
        for (name, seconds) in [("a", 60), ("a", 90), ("b", 10)] {
            queue.lock().schedule(&key(name), begun + Duration::from_secs(seconds));
        }
        assert_eq!(queue.next().await, key("b"));
        assert_eq!(queue.next().await, key("a"));
        assert_eq!(begun.elapsed().as_secs(), 60);
        queue.done(&key("a"), Next::After(Duration::from_secs(5)));
        queue.add(&key("a"));
        assert_eq!(queue.next().await, key("a"));
        assert_eq!(begun.elapsed().as_secs(), 60, "a change does not wait for the timer");
    }

    #[tokio::test(start_paused = true)]
    async fn failures_wait_longer_each_time_and_success_forgets_them() {
        let queue = Queue::default();
        queue.add(&key("a"));
        let mut waits = Vec::new();
        for _ in 0..12 {
            let begun = Instant::now();
            let taken = queue.next().await;
            waits.push(begun.elapsed());
            queue.done(&taken, Next::Retry);
        }
        assert!(waits[1] >= RETRY.first && waits[1] <= RETRY.first.mul_f64(1.25));
        assert!(waits[5] > waits[2] * 3);
        assert!(waits[11] >= RETRY.longest && waits[11] <= RETRY.longest.mul_f64(1.25));
        let taken = queue.next().await;
        queue.done(&taken, Next::Rest);
        queue.add(&key("a"));
        let taken = queue.next().await;
        queue.done(&taken, Next::Retry);
        let begun = Instant::now();
        queue.next().await;
        assert!(begun.elapsed() <= RETRY.first.mul_f64(1.25));
    }

    #[tokio::test(start_paused = true)]
    async fn who_changes_what_is_asked_for_does_not_wait_for_failures_of_before() {
        let queue = Queue::default();
        queue.add(&key("a"));
        for _ in 0..12 {
            let taken = queue.next().await;
            queue.done(&taken, Next::Retry);
        }
        let begun = Instant::now();
        queue.add_changed(&key("a"));
        let taken = queue.next().await;
        assert_eq!(begun.elapsed(), Duration::ZERO);
        // The answer that was remembered a moment ago is still there.
        queue.done(&taken, Next::Retry);
        queue.next().await;
        assert!(begun.elapsed() <= RETRY.first.mul_f64(1.25), "{:?}", begun.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_for_an_answer_is_neither_a_failure_nor_a_success() {
        let queue = Queue::default();
        queue.add(&key("a"));
        let mut retries = Vec::new();
        for _ in 0..6 {
            let taken = queue.next().await;
            queue.done(&taken, Next::Await(Duration::from_mins(1)));
            queue.add(&key("a"));
            let taken = queue.next().await;
            let begun = Instant::now();
            queue.done(&taken, Next::Retry);
            let taken = queue.next().await;
            retries.push(begun.elapsed());
            queue.done(&taken, Next::Await(Duration::ZERO));
        }
        assert!(retries[5] > retries[0] * 8, "{retries:?}");
    }
}
