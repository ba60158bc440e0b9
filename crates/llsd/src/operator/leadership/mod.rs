//! Which replica acts: leader election on a Lease, in the words of client-go, so that an operator
//! of release 0.9 and this one never act together. What the leader does is not known here.
//!
//! Why two never lead at once: a leader stops at `renew_deadline` after it *sent* the last write
//! that the API server took. Another one waits for `lease_duration` after it *saw* that write, so
//! it begins later by at least the difference of the two. Each side reads its own monotonic clock
//! alone; the times inside the Lease are for people.

mod campaign;
mod decide;
mod record;
mod seen;
mod store;
mod thread;

use std::future::pending;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

pub use campaign::campaign;
pub use decide::{LeaseStep, decide};
pub use llsd_install::names::LEASE as LEASE_NAME;
pub use thread::stand;

/// Who stands for election, on which Lease, and how patiently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElectionSettings {
    pub namespace: String,
    pub name: String,
    /// Must differ between any two processes, also between one and its restart.
    pub identity: String,
    /// How long the others wait after the last sign of life. Written in whole seconds, rounded up.
    pub lease_duration: Duration,
    /// When a leader that cannot renew stops, counted from the last renewal. Shorter than
    /// `lease_duration`: the difference is what it has to stop its work in.
    pub renew_deadline: Duration,
    /// How long to wait, at least, between two looks at another's Lease, or after a failure.
    pub retry_period: Duration,
}

impl ElectionSettings {
    /// The Lease and the times of release 0.9, and an identity of this process alone.
    pub fn new(namespace: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: LEASE_NAME.to_owned(),
            identity: identity(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }

    /// A leader writes twice as often as it must, and less than half as often as client-go would:
    /// every 5 s by default. That leaves time for two renewals that are never answered.
    pub(crate) fn renew_interval(&self) -> Duration {
        self.renew_deadline / 2
    }

    /// How long one request may take.
    pub(crate) fn patience(&self) -> Duration {
        self.renew_deadline / 4
    }
}

/// The pod's name, for people, and something that no restart repeats.
fn identity() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{}_{:016x}", host.trim(), fastrand::u64(..))
}

/// Whether this process leads, by the clock: also when the campaign's task gets no turn, or is
/// gone, nothing here says yes after the deadline.
#[derive(Clone, Debug)]
pub struct Leadership {
    /// Until when this process leads unless it renews.
    term: watch::Receiver<Option<Instant>>,
}

impl Leadership {
    pub fn is_leading(&self) -> bool {
        self.ends_at().is_some()
    }

    /// Returns once this process leads. Never, if the campaign has ended.
    pub async fn acquired(&mut self) {
        while !self.is_leading() {
            if self.term.changed().await.is_err() {
                pending::<()>().await;
            }
        }
    }

    /// Returns once this process does not lead, at once if it does not now.
    pub async fn lost(&mut self) {
        loop {
            self.term.mark_unchanged();
            let Some(end) = self.ends_at() else { return };
            tokio::select! {
                _ = self.term.changed() => {}
                () = sleep_until(end) => {}
            }
        }
    }

    fn ends_at(&self) -> Option<Instant> {
        let campaign_goes_on = self.term.has_changed().is_ok();
        let end = *self.term.borrow();
        end.filter(|end| campaign_goes_on && Instant::now() < *end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERM: Duration = Duration::from_millis(200);

    #[tokio::test]
    async fn a_term_ends_by_the_clock_although_nobody_says_so() {
        let (announce, term) = watch::channel(None);
        let mut leadership = Leadership { term };
        assert!(!leadership.is_leading());

        announce.send_replace(Some(Instant::now() + TERM));
        leadership.acquired().await;
        assert!(leadership.is_leading());

        let before = Instant::now();
        leadership.lost().await;
        assert!(before.elapsed() > TERM / 2);
        assert!(!leadership.is_leading());
    }

    #[tokio::test]
    async fn a_renewed_term_goes_on() {
        let (announce, term) = watch::channel(Some(Instant::now() + TERM));
        let mut leadership = Leadership { term };
        let renewing = async {
            tokio::time::sleep(TERM / 2).await;
            announce.send_replace(Some(Instant::now() + TERM));
            pending::<()>().await;
        };
        let before = Instant::now();
        tokio::select! {
            () = leadership.lost() => {}
            () = renewing => {}
        }
        assert!(before.elapsed() >= TERM * 3 / 2);
    }

    #[tokio::test]
    async fn a_campaign_that_is_gone_leads_no_more() {
        let (announce, term) = watch::channel(Some(Instant::now() + TERM));
        let mut leadership = Leadership { term };
        drop(announce);
        assert!(!leadership.is_leading());
        leadership.lost().await;
        let again = tokio::time::timeout(TERM, leadership.acquired()).await;
        assert!(again.is_err());
    }

    #[test]
    fn no_two_processes_share_an_identity() {
        assert_ne!(ElectionSettings::new("a").identity, ElectionSettings::new("a").identity);
    }
}
