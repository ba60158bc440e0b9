//! Changes of inputs that several servers share: who of them may change now. Decided in
//! [`llsd_plan::rollout::wave`]; here is what the cache knows of the servers, and one lock for all workers.

use std::sync::{Mutex, MutexGuard, PoisonError};

use llsd_plan::resource::Key;
use llsd_plan::rollout::wave::{Candidate, Fleet, Waiting, WaveProgress, Waves};
use llsd_plan::status::{Event, course_event};

use super::cache::Cache;

/// Who may change now.
#[derive(Debug, Default)]
pub struct SharedChanges(Mutex<Option<Waves>>);

/// What follows for others from what became of one server.
#[derive(Debug, Default)]
pub struct Consequences {
    /// Who has to be reconciled.
    pub woken: Vec<Key>,
    /// What the operator's ConfigMap is told.
    pub event: Option<Event>,
}

impl SharedChanges {
    /// Gives a server its turn, or says why it has to wait.
    pub fn ask(&self, cache: &Cache, candidate: Candidate, fleet: Fleet) -> Result<(), Waiting> {
        let mut waves = self.lock();
        // Until then no server has asked, and what the Deployments say is all that there is to know.
        waves.get_or_insert_with(|| Waves::of_members(cache.members())).ask(candidate, fleet)
    }

    /// A reconcile of a server ended; what follows for others.
    pub fn ended(&self, cache: &Cache, key: &Key, fleet: impl FnOnce() -> Fleet) -> Consequences {
        let mut waves = self.lock();
        let Some(waves) = waves.as_mut() else { return Consequences::default() };
        waves.ended(key, cache.member(key));
        let fleet = fleet();
        let (before, now) = waves.course(fleet);
        let waiting = waves.waiting();
        let woken = if waiting > 0 { waves.to_wake(fleet) } else { Vec::new() };
        let event =
            (before != now).then(|| course_event(before, now, progress(cache, waiting), fleet));
        Consequences { woken, event: event.flatten() }
    }

    /// How far all of them are.
    pub fn progress(&self, cache: &Cache) -> WaveProgress {
        progress(cache, self.lock().as_ref().map_or(0, Waves::waiting))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Waves>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn progress(cache: &Cache, waiting: usize) -> WaveProgress {
    let members = cache.members();
    WaveProgress::of_members(members.iter().map(|(_, member)| member), waiting)
}
