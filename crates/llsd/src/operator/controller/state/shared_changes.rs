//! Changes of inputs that several servers share: who of them may change now. Decided in
//! [`llsd_plan::rollout::wave`]; here is what the cache knows of the servers, and one lock for all workers.

use std::sync::{Mutex, PoisonError};

use llsd_plan::resource::Key;
use llsd_plan::rollout::wave::{Candidate, Fleet, GATHERING, Waiting, WaveProgress, Waves};
use llsd_plan::status::{Event, course_event};

use super::cache::Cache;

/// Who may change now.
#[derive(Debug)]
pub struct SharedChanges {
    waves: Mutex<Option<Waves>>,
    /// For so many seconds those gather that a change reaches.
    gathering: i64,
}

/// What follows for others from what became of one server.
#[derive(Debug, Default)]
pub struct Consequences {
    /// Who has to be reconciled.
    pub woken: Vec<Key>,
    /// What the operator's ConfigMap is told.
    pub event: Option<Event>,
}

impl SharedChanges {
    /// `llsd diff` looks at one server alone, and waits for no others.
    pub fn new(is_operator: bool) -> Self {
        Self { waves: Mutex::default(), gathering: if is_operator { GATHERING } else { 0 } }
    }

    /// Gives a server its turn, or says why it has to wait.
    pub fn ask(
        &self,
        cache: &Cache,
        candidate: &Candidate,
        fleet: Fleet,
        now: i64,
    ) -> Result<(), Box<Waiting>> {
        self.with(cache, fleet, now, |waves| {
            waves.set_member(&candidate.key, cache.member(&candidate.key, now));
            waves.ask(candidate)
        })
    }

    /// A reconcile of a server ended; what follows for others.
    pub fn ended(&self, cache: &Cache, key: &Key, fleet: Fleet, now: i64) -> Consequences {
        self.with(cache, fleet, now, |waves| {
            waves.ended(key, cache.member(key, now));
            let woken = waves.take_woken();
            let (before, now) = waves.course();
            let event = (before != now).then(|| course_event(before, now, waves.progress(), fleet));
            Consequences { woken, event: event.flatten() }
        })
    }

    /// How far all of them are, and who has to be reconciled because time has passed.
    pub fn progress(&self, cache: &Cache, fleet: Fleet, now: i64) -> (WaveProgress, Vec<Key>) {
        self.with(cache, fleet, now, |waves| (waves.progress(), waves.take_woken()))
    }

    /// At first what the Deployments say is all that there is to know: no server has asked yet.
    fn with<T>(
        &self,
        cache: &Cache,
        fleet: Fleet,
        now: i64,
        act: impl FnOnce(&mut Waves) -> T,
    ) -> T {
        let mut waves = self.waves.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = || Waves::of_members(cache.members(now), fleet, self.gathering);
        let waves = waves.get_or_insert_with(begin);
        waves.set_fleet(fleet);
        waves.set_time(now);
        act(waves)
    }
}
