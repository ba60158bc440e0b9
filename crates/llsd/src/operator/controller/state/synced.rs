//! Which watches show what is there. Each is in sync or in trouble by itself: nothing is decided before
//! all of them have listed or failed, and then only those wait who need what cannot be watched.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::operator::controller::state::scope::Part;
use crate::operator::controller::state::watched::{Trouble, Watched};
use crate::operator::health::Ready;
use crate::operator::telemetry::Metrics;

#[derive(Clone, Debug, PartialEq, Eq)]
enum WatchState {
    /// Its first list is not in yet.
    Starting,
    InSync,
    Troubled {
        trouble: Trouble,
        /// What it had shown before still stands in the cache.
        has_synced: bool,
    },
}

type Place = (Watched, Part);

/// The state of every watch. Those that list in pages do so one after the other: a page of each kind at once would be
/// the most memory that the operator ever takes.
#[derive(Debug)]
pub struct Synced {
    states: Mutex<HashMap<Place, WatchState>>,
    changed: Notify,
    turn: Arc<Semaphore>,
    metrics: Metrics,
    ready: Ready,
}

impl Synced {
    pub fn new(metrics: Metrics, ready: Ready) -> Arc<Self> {
        Arc::new(Self {
            states: Mutex::default(),
            changed: Notify::new(),
            turn: Arc::new(Semaphore::new(1)),
            metrics,
            ready,
        })
    }

    /// One more watch.
    pub fn expect(self: &Arc<Self>, watched: Watched, part: &Part) -> Watch {
        let place = (watched, part.clone());
        self.set(&place, WatchState::Starting);
        Watch { synced: Arc::clone(self), place, turn: None }
    }

    /// A watch that is no longer kept, because its kind is not served; whether it was.
    pub fn forget(&self, watched: Watched, part: &Part) -> bool {
        let was_kept = self.lock().remove(&(watched, part.clone())).is_some();
        self.tell(watched);
        self.changed.notify_waiters();
        was_kept
    }

    /// Waits until every watch has listed, or is in trouble.
    pub async fn settled(&self) {
        loop {
            let changed = self.changed.notified();
            if !self.lock().values().any(|state| *state == WatchState::Starting) {
                return;
            }
            changed.await;
        }
    }

    /// Whether a watch shows what is there in a namespace.
    pub fn is_in_sync(&self, watched: Watched, namespace: &str) -> bool {
        self.state(watched, namespace) == Some(WatchState::InSync)
    }

    /// Whether any watch is in trouble, wherever.
    pub fn is_troubled(&self) -> bool {
        self.lock().values().any(|state| matches!(state, WatchState::Troubled { .. }))
    }

    /// What keeps a watch from showing what is there in a namespace.
    pub fn trouble(&self, watched: Watched, namespace: &str) -> Option<Trouble> {
        match self.state(watched, namespace) {
            Some(WatchState::Troubled { trouble, .. }) => Some(trouble),
            Some(WatchState::Starting | WatchState::InSync) | None => None,
        }
    }

    fn state(&self, watched: Watched, namespace: &str) -> Option<WatchState> {
        let states = self.lock();
        let whole = states.get(&(watched, Part::Cluster));
        whole.or_else(|| states.get(&(watched, Part::Namespace(namespace.to_owned())))).cloned()
    }

    /// The state that was there before.
    fn set(&self, place: &Place, state: WatchState) -> Option<WatchState> {
        let before = self.lock().insert(place.clone(), state);
        self.tell(place.0);
        self.changed.notify_waiters();
        before
    }

    fn tell(&self, watched: Watched) {
        let states = self.lock();
        let plural = watched.plural();
        let of_plural = states.iter().filter(|((known, _), _)| known.plural() == plural);
        let out = of_plural.filter(|(_, state)| **state != WatchState::InSync).count();
        self.metrics.watches_out_of_sync(plural, out);
        if watched == Watched::Resources {
            self.ready.set_blind(blind(&states));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Place, WatchState>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why no resource at all can be seen; nothing while one namespace can be. Only a refusal counts: a
/// list that fails may fail because conversion does, which this replica must go on serving.
fn blind(states: &HashMap<Place, WatchState>) -> Option<String> {
    let own = states.iter().filter(|((watched, _), _)| *watched == Watched::Resources);
    let refusals: Option<Vec<String>> = own
        .map(|(_, state)| match state {
            WatchState::Troubled { trouble: Trouble::Forbidden(why), .. } => Some(why.clone()),
            WatchState::Troubled { trouble: Trouble::NotServed, .. } => {
                Some("the cluster has no LlamaStackDistribution".to_owned())
            }
            WatchState::Troubled { trouble: Trouble::NotAnswering(_), .. }
            | WatchState::Starting
            | WatchState::InSync => None,
        })
        .collect();
    refusals?.into_iter().min()
}

/// One watch, held by whoever follows it.
#[derive(Debug)]
pub struct Watch {
    synced: Arc<Synced>,
    place: Place,
    turn: Option<OwnedSemaphorePermit>,
}

impl Watch {
    pub fn watched(&self) -> Watched {
        self.place.0
    }

    pub fn part(&self) -> &Part {
        &self.place.1
    }

    /// Waits for its turn to list in pages.
    pub async fn begin(&mut self) {
        if self.turn.is_none() {
            self.turn = Arc::clone(&self.synced.turn).acquire_owned().await.ok();
        }
    }

    /// Its list is not going on, so the next may list.
    pub fn end_turn(&mut self) {
        self.turn = None;
    }

    pub fn is_troubled(&self) -> bool {
        matches!(self.state(), Some(WatchState::Troubled { .. }))
    }

    pub fn has_synced(&self) -> bool {
        match self.state() {
            Some(WatchState::InSync) => true,
            Some(WatchState::Troubled { has_synced, .. }) => has_synced,
            Some(WatchState::Starting) | None => false,
        }
    }

    /// It shows what is there; whether a trouble is over with that.
    pub fn in_sync(&mut self) -> bool {
        self.turn = None;
        if self.state() == Some(WatchState::InSync) {
            return false;
        }
        let before = self.synced.set(&self.place, WatchState::InSync);
        let is_over = matches!(before, Some(WatchState::Troubled { .. }));
        if is_over {
            let (watched, part) = &self.place;
            tracing::info!(resource = watched.plural(), %part, "a watch is up to date again");
        }
        is_over
    }

    /// It does not show what is there; whether that is news. The next may list meanwhile.
    pub fn failed(&mut self, trouble: Trouble) -> bool {
        self.turn = None;
        let is_news = match self.state() {
            Some(WatchState::Troubled { trouble: before, .. }) => !before.is_same_kind_as(&trouble),
            Some(WatchState::Starting | WatchState::InSync) | None => true,
        };
        if is_news {
            let (watched, part) = (self.place.0.plural(), &self.place.1);
            tracing::warn!(resource = watched, %part, why = %trouble, "a watch is not up to date");
        }
        let has_synced = self.has_synced();
        self.synced.set(&self.place, WatchState::Troubled { trouble, has_synced });
        is_news
    }

    fn state(&self) -> Option<WatchState> {
        self.synced.lock().get(&self.place).cloned()
    }
}

#[cfg(test)]
mod tests {
    use llsd_plan::objects::ObjectKind;

    use super::*;

    fn forbidden() -> Trouble {
        Trouble::Forbidden("may not list".into())
    }

    #[tokio::test]
    async fn a_watch_in_trouble_holds_nobody_but_is_told() {
        let (metrics, ready) = (Metrics::new("0"), Ready::default());
        ready.set();
        let synced = Synced::new(metrics.clone(), ready.clone());
        let part = Part::Cluster;
        let mut own = synced.expect(Watched::Resources, &part);
        let mut routes = synced.expect(Watched::Owned(ObjectKind::HttpRoute), &part);
        routes.begin().await;
        assert!(routes.failed(forbidden()) && !routes.failed(forbidden()), "told once");
        // Its turn is over, so the next can list.
        own.begin().await;
        assert!(!own.in_sync());
        synced.settled().await;
        assert!(synced.is_in_sync(Watched::Resources, "a"));
        assert_eq!(synced.trouble(routes.watched(), "a"), Some(forbidden()));
        assert!(metrics.text().contains("llsd_watches_out_of_sync{resource=\"httproutes\"} 1\n"));
        assert_eq!(ready.blind(), None, "only the resource's own watch counts");
        assert!(routes.in_sync(), "a trouble is over");
        assert!(metrics.text().contains("llsd_watches_out_of_sync{resource=\"httproutes\"} 0\n"));
    }

    #[tokio::test]
    async fn an_operator_is_blind_when_it_sees_no_namespace_at_all() {
        let ready = Ready::default();
        let synced = Synced::new(Metrics::new("0"), ready.clone());
        let [a, b] = ["a", "b"].map(|name| Part::Namespace(name.to_owned()));
        let (mut a, mut b) =
            (synced.expect(Watched::Resources, &a), synced.expect(Watched::Resources, &b));
        a.in_sync();
        b.failed(forbidden());
        assert!(synced.is_in_sync(Watched::Resources, "a"));
        assert!(!synced.is_in_sync(Watched::Resources, "b"));
        assert_eq!(ready.blind(), None, "one namespace can be seen");
        a.failed(forbidden());
        assert_eq!(ready.blind().as_deref(), Some("may not list"));
        assert!(a.has_synced());
        a.failed(Trouble::NotAnswering("conversion failed".into()));
        assert_eq!(ready.blind(), None, "conversion is served on");
    }
}
