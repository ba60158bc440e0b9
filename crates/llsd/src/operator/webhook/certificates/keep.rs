//! One replica's part in keeping the certificates: it reads the Secret at intervals, writes what was
//! decided, serves what it may, and publishes which authorities are to be trusted.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use kube::Client;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::Times;
use super::certificate::{Leaf, Trusted};
use super::decide::{Replica, Standing, Step, decide, may_serve};
use super::make::{MakeError, carry_out};
use super::material::Material;
use super::secret::{SecretStore, StoredMaterial};
use super::served::Served;
use crate::operator::bounded::RequestError;
use crate::operator::leadership::Leadership;
use crate::operator::telemetry::{Certificate, Metrics};

/// Steps of one turn; after each the Secret is considered again.
const STEPS: usize = 5;

/// Certificates of authorities as one PEM text, which is what a `caBundle` holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle(pub String);

/// Which authorities both registrations name, and since when they were seen to.
#[derive(Clone, Debug)]
pub struct Confirmed {
    pub bundle: Bundle,
    pub since: Instant,
}

/// Why the certificates could not be brought up to date.
#[derive(Debug, thiserror::Error)]
enum KeepError {
    #[error(transparent)]
    Secret(#[from] RequestError),
    #[error(transparent)]
    Make(#[from] MakeError),
}

/// Keeps the certificates of this replica.
pub struct CertificateKeeper {
    store: SecretStore,
    names: BTreeSet<String>,
    times: Times,
    served: Arc<Served>,
    serving: Option<(Leaf, Trusted)>,
    /// The authorities of the Secret, and since when they are in it.
    seen: Vec<(Trusted, Instant)>,
    /// What is to be registered: what was read at the start, and later only while this replica
    /// leads and has read the Secret since.
    bundle: watch::Sender<Option<Bundle>>,
    confirmed: watch::Receiver<Option<Confirmed>>,
    last_failure: Option<String>,
    metrics: Metrics,
}

impl CertificateKeeper {
    /// Certificates for `names`, in the Secret of `namespace`. `confirmed` tells what is registered.
    pub fn new(
        client: &Client,
        namespace: &str,
        names: BTreeSet<String>,
        times: Times,
        confirmed: watch::Receiver<Option<Confirmed>>,
        metrics: Metrics,
    ) -> Self {
        Self {
            store: SecretStore::new(client, namespace),
            names,
            times,
            served: Arc::default(),
            serving: None,
            seen: Vec::new(),
            bundle: watch::Sender::new(None),
            confirmed,
            last_failure: None,
            metrics,
        }
    }

    pub fn served(&self) -> Arc<Served> {
        Arc::clone(&self.served)
    }

    /// What is to be registered.
    pub fn bundle(&self) -> watch::Receiver<Option<Bundle>> {
        self.bundle.subscribe()
    }

    /// Returns once there is something to serve.
    pub async fn obtain(&mut self) {
        loop {
            self.turn(Standing::Starting).await;
            if self.serving.is_some() {
                return;
            }
            sleep(self.times.poll / 10).await;
        }
    }

    /// Goes on as long as it is polled. Without an election this replica leads.
    pub async fn keep(mut self, mut leadership: Option<Leadership>) {
        loop {
            let leads = leadership.as_ref().is_none_or(Leadership::is_leading);
            if leads {
                let settled = self.is_settled();
                self.turn(Standing::Leading { settled }).await;
            } else {
                // Somebody else may have gone on meanwhile: what was true then is not registered
                // by a replica that leads again before it has read again.
                self.bundle.send_replace(None);
                self.turn(Standing::Following).await;
            }
            match &mut leadership {
                Some(leadership) if !leads => tokio::select! {
                    () = sleep(self.times.poll) => {}
                    () = leadership.acquired() => {}
                },
                _ => sleep(self.times.poll).await,
            }
        }
    }

    /// Whether what was last published is registered, and for long enough.
    fn is_settled(&self) -> bool {
        let (bundle, confirmed) = (self.bundle.borrow(), self.confirmed.borrow());
        match (&*bundle, &*confirmed) {
            (Some(bundle), Some(confirmed)) => {
                confirmed.bundle == *bundle && confirmed.since.elapsed() >= self.times.settle
            }
            _ => false,
        }
    }

    async fn turn(&mut self, standing: Standing) {
        match self.write_what_is_due(standing).await {
            Ok(read) => {
                self.last_failure = None;
                self.see(&read.found);
                if standing != Standing::Following && read.found.authority.is_some() {
                    self.publish(Bundle(read.found.bundle()));
                }
                self.serve_if_possible(&read.found);
            }
            Err(error) => {
                let (name, failure) = (self.store.name(), error.to_string());
                if self.last_failure.as_ref() != Some(&failure) {
                    tracing::warn!(secret = name, failure, "no certificates of the webhooks");
                    self.last_failure = Some(failure);
                }
            }
        }
    }

    async fn write_what_is_due(
        &mut self,
        mut standing: Standing,
    ) -> Result<StoredMaterial, KeepError> {
        let mut read = self.store.fetch().await?;
        for _ in 0..STEPS {
            let now = Timestamp::now();
            // What was confirmed may be something else than what there is now.
            if let Standing::Leading { settled } = &mut standing {
                let told = self.bundle.borrow();
                *settled &= told.as_ref().is_some_and(|told| told.0 == read.found.bundle());
            }
            let serving = self.serving.as_ref().map(|(_, trusted)| trusted);
            let own = Replica { standing, serving, names: &self.names };
            let step = decide(now, &read.found, &own, &self.times);
            if step == Step::Keep {
                break;
            }
            let content = carry_out(&step, now, &read.found, &own, &self.times)?;
            match self.store.write(&content, &read).await {
                Ok(written) => {
                    self.log(&step, &read);
                    read = written;
                }
                Err(RequestError::Stale) => read = self.store.fetch().await?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(read)
    }

    fn log(&self, step: &Step, before: &StoredMaterial) {
        let secret = self.store.name();
        if before.exists() && !before.found.flaws.is_empty() {
            let flaws = before.found.flaws.join("; ");
            tracing::warn!(secret, flaws, "the certificates of the webhooks were broken");
        }
        let done = match step {
            Step::Keep => return,
            Step::MakeAnew => "a new authority and a new certificate are made",
            Step::MakeLeaf => "a new certificate is made",
            Step::PrepareNext => "a new authority is made, and signs when it is trusted",
            Step::HandOver => "the new authority signs from now on",
            Step::TrustServed => "the authority of what is still served is trusted again",
            Step::Retire => "the previous authority is no longer trusted",
            Step::Tidy => "what could not be understood is removed",
        };
        tracing::info!(secret, "certificates of the webhooks: {done}");
    }

    fn see(&mut self, found: &Material) {
        self.seen.retain(|(seen, _)| found.trusted().any(|trusted| trusted == seen));
        for trusted in found.trusted() {
            if !self.seen.iter().any(|(seen, _)| seen == trusted) {
                self.seen.push((trusted.clone(), Instant::now()));
            }
        }
    }

    fn publish(&self, bundle: Bundle) {
        self.bundle.send_if_modified(|now| {
            let changed = now.as_ref() != Some(&bundle);
            *now = Some(bundle);
            changed
        });
    }

    fn serve_if_possible(&mut self, found: &Material) {
        let (Some(authority), Some(leaf)) = (&found.authority, &found.leaf) else { return };
        let now = Timestamp::now();
        let serving = self.serving.as_ref().map(|(leaf, trusted)| (leaf, trusted));
        let unchanged = serving.is_some_and(|(serving, _)| serving.pem == leaf.pem);
        let seen = self.seen.iter().find(|(seen, _)| *seen == authority.trusted);
        let seen_for = seen.map(|(_, since)| since.elapsed()).unwrap_or_default();
        if unchanged
            || now >= leaf.until
            || !may_serve(now, serving, authority, seen_for, &self.times)
        {
            return;
        }
        if self.served.serve(leaf).is_ok() {
            tracing::info!(until = %leaf.until, "another certificate of the webhooks is served");
            let trusted = &authority.trusted;
            for (which, from, until) in [
                (Certificate::Served, leaf.from, leaf.until),
                (Certificate::Authority, trusted.from, trusted.until),
            ] {
                self.metrics.certificate(which, from.as_second(), until.as_second());
            }
            self.serving = Some((leaf.clone(), trusted.clone()));
        }
    }
}
