//! The loop that stands for election: reads, decides, writes, waits. What to do is decided in
//! `decide`, and what is written in `record`.

use std::pin::pin;

use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::decide::{LeaseStep, decide};
use super::record;
use super::seen::Seen;
use super::store::LeaseStore;
use super::{ElectionSettings, Leadership};
use crate::operator::backoff::jittered;
use crate::operator::bounded::RequestError;

/// Stands for election as long as the future is polled, until `stop` completes. Then it gives the
/// Lease back, so that the next one leads within about a `retry_period`.
///
/// `stop` must complete only after the leader's work has ended, not when it is asked to end: who
/// gives the Lease back and goes on working is a second leader. Dropping the future gives nothing
/// back.
///
/// # Panics
/// If the settings would let another lead before this process stops.
pub fn campaign(
    client: kube::Client,
    settings: ElectionSettings,
    stop: impl Future<Output = ()>,
) -> (Leadership, impl Future<Output = ()>) {
    assert!(
        settings.renew_deadline < settings.lease_duration,
        "a leader must stop before another may begin"
    );
    let (announce, term) = watch::channel(None);
    let store = LeaseStore::new(client, &settings);
    let seen = Seen::nothing(Instant::now());
    let campaign =
        Campaign { settings, store, announce, seen, up_to_date: false, last_failure: None };
    (Leadership { term }, campaign.run(stop))
}

#[derive(Debug)]
struct Campaign {
    settings: ElectionSettings,
    store: LeaseStore,
    announce: watch::Sender<Option<Instant>>,
    seen: Seen,
    /// Whether the Lease is as we wrote it, for all we know: then there is no need to read it
    /// before the next renewal.
    up_to_date: bool,
    last_failure: Option<String>,
}

impl Campaign {
    async fn run(mut self, stop: impl Future<Output = ()>) {
        let mut stop = pin!(stop);
        loop {
            let turn = async {
                let next = self.turn().await;
                self.sleep(next).await;
            };
            tokio::select! {
                biased;
                () = &mut stop => break,
                () = turn => {}
            }
        }
        self.give_back().await;
    }

    /// One look and one step. Says when the next one is due.
    async fn turn(&mut self) -> Instant {
        let began = Instant::now();
        if !self.up_to_date {
            match self.store.fetch().await {
                Ok(found) => self.seen.update(found, Instant::now()),
                Err(error) => return self.failed(&error, began),
            }
        }
        let content = self.seen.content.as_ref();
        match decide(content, self.seen.changed_at, Instant::now(), &self.settings) {
            LeaseStep::Wait { until } => {
                self.end_term("another replica leads");
                self.last_failure = None;
                until.min(self.retry_after(began))
            }
            LeaseStep::Take | LeaseStep::Renew => self.write(began).await,
        }
    }

    async fn write(&mut self, began: Instant) -> Instant {
        let content = record::held(self.seen.content.as_ref(), Timestamp::now(), &self.settings);
        // Taken before the request is sent: the others cannot have seen it any earlier.
        let sent_at = Instant::now();
        match self.store.write(self.seen.lease.as_ref(), content).await {
            Ok(lease) => {
                self.seen.update(Some(lease), Instant::now());
                self.up_to_date = true;
                self.begin_term(sent_at + self.settings.renew_deadline);
                sent_at + self.settings.renew_interval()
            }
            Err(RequestError::Stale) => {
                // Soon: a leader wants to know whether it still is one.
                self.up_to_date = false;
                Instant::now() + jittered(self.settings.retry_period / 10, 0.25)
            }
            // Without an answer the write may have been done or not. The same write again is
            // refused in the first case, and does all there is to do in the second.
            Err(error) => self.failed(&error, began),
        }
    }

    fn begin_term(&mut self, end: Instant) {
        let before = self.announce.send_replace(Some(end));
        self.last_failure = None;
        if before.is_none() {
            tracing::info!(identity = self.settings.identity, "this replica leads");
        }
    }

    fn end_term(&mut self, why: &str) {
        if self.announce.send_replace(None).is_some() {
            tracing::warn!(identity = self.settings.identity, why, "this replica leads no more");
        }
    }

    /// Waits for the next turn, but is there when the term runs out.
    async fn sleep(&mut self, next: Instant) {
        let end = *self.announce.borrow();
        if let Some(end) = end.filter(|end| *end <= next) {
            sleep_until(end).await;
            self.end_term("the lease could not be renewed in time");
        }
        sleep_until(next).await;
    }

    fn failed(&mut self, error: &RequestError, began: Instant) -> Instant {
        let failure = error.to_string();
        // Every two seconds the same would bury what else is to be read.
        if self.last_failure.as_ref() != Some(&failure) {
            let ElectionSettings { namespace, name, .. } = &self.settings;
            tracing::warn!(%namespace, lease = %name, error = failure, "the lease is out of reach");
            self.last_failure = Some(failure);
        }
        self.retry_after(began)
    }

    /// At once, if waiting for the answer took longer than that.
    fn retry_after(&self, began: Instant) -> Instant {
        began + jittered(self.settings.retry_period, 0.25)
    }

    async fn give_back(&mut self) {
        self.announce.send_replace(None);
        // Read first: a write whose answer was not waited for may have made it ours. More often
        // than once only if someone else writes between the two.
        for _ in 0..3 {
            let Ok(Some(lease)) = self.store.fetch().await else { return };
            let content = lease.spec.clone().unwrap_or_default();
            if content.holder_identity.as_deref() != Some(&self.settings.identity) {
                return;
            }
            let content = record::released(&content, Timestamp::now());
            match self.store.write(Some(&lease), content).await {
                Err(RequestError::Stale) => {}
                Ok(_) => return tracing::info!("the lease is given back"),
                Err(error) => {
                    return tracing::warn!(%error, "the lease could not be given back");
                }
            }
        }
    }
}
