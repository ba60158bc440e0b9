//! One replica: a campaign in a task of its own, and a record of when it led.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use llsd::operator::leadership::{ElectionSettings, Leadership, campaign};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// From when until when; `None` while it lasts.
type Term = (Instant, Option<Instant>);

pub struct Candidate {
    pub leadership: Leadership,
    terms: Arc<Mutex<Vec<Term>>>,
    stop: Option<oneshot::Sender<()>>,
    campaign: JoinHandle<()>,
    witness: JoinHandle<()>,
}

impl Candidate {
    pub fn start(client: kube::Client, settings: ElectionSettings) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async {
            let _ = stopped.await;
        };
        let (leadership, running) = campaign(client, settings, stopped);
        let terms = Arc::new(Mutex::new(Vec::new()));
        let witness = tokio::spawn(witness(leadership.clone(), terms.clone()));
        Self { leadership, terms, stop: Some(stop), campaign: tokio::spawn(running), witness }
    }

    pub fn leads(&self) -> bool {
        self.leadership.is_leading()
    }

    pub async fn acquired_within(&mut self, patience: Duration) -> Duration {
        let began = Instant::now();
        let acquired = tokio::time::timeout(patience, self.leadership.acquired()).await;
        assert!(acquired.is_ok(), "does not lead after {patience:?}");
        began.elapsed()
    }

    pub async fn lost_within(&mut self, patience: Duration) -> Duration {
        let began = Instant::now();
        let lost = tokio::time::timeout(patience, self.leadership.lost()).await;
        assert!(lost.is_ok(), "still leads after {patience:?}");
        began.elapsed()
    }

    /// Ends in good order.
    pub async fn stop(&mut self) {
        drop(self.stop.take());
        (&mut self.campaign).await.unwrap();
    }

    /// Ends as a killed process does: without a word.
    pub fn vanish(&self) {
        self.campaign.abort();
    }

    pub fn terms(&self) -> Vec<Term> {
        self.terms.lock().unwrap().clone()
    }
}

impl Drop for Candidate {
    fn drop(&mut self) {
        self.campaign.abort();
        self.witness.abort();
    }
}

async fn witness(mut leadership: Leadership, terms: Arc<Mutex<Vec<Term>>>) {
    loop {
        leadership.acquired().await;
        terms.lock().unwrap().push((Instant::now(), None));
        leadership.lost().await;
        terms.lock().unwrap().last_mut().unwrap().1 = Some(Instant::now());
    }
}

/// Whether the two ever led at the same time.
pub fn overlap(one: &Candidate, other: &Candidate) -> bool {
    let now = Instant::now();
    let (one, other) = (one.terms(), other.terms());
    one.iter().any(|(begin, end)| {
        other.iter().any(|(other_begin, other_end)| {
            begin < &other_end.unwrap_or(now) && other_begin < &end.unwrap_or(now)
        })
    })
}
