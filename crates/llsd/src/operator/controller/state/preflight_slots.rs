//! The slots for preflight Jobs as workers share them. The Jobs are counted under the lock: a slot that was given is left
//! only once its Job is among them, so none counts for nothing in between.

use std::sync::{Mutex, MutexGuard, PoisonError};

use llsd_plan::resource::Key;
use llsd_plan::rollout::preflight::{JobsUnderWay, Slots, Urgency};

#[derive(Debug)]
pub struct PreflightSlots(Mutex<Slots>);

impl PreflightSlots {
    pub fn new(limit: usize) -> Self {
        Self(Mutex::new(Slots::new(limit)))
    }

    /// Asks for a slot, for a change that waits since then. Whether it has one, and who else got one.
    pub fn ask(
        &self,
        key: &Key,
        since: i64,
        urgency: Urgency,
        jobs: impl FnOnce() -> JobsUnderWay,
    ) -> (bool, Vec<Key>) {
        let mut slots = self.lock();
        slots.ask(key, since, urgency);
        let mut given = slots.give(&jobs());
        given.retain(|next| next != key);
        (slots.has_slot(key), given)
    }

    /// Its Job was made.
    pub fn job_made(&self, key: &Key) {
        self.lock().job_made(key);
    }

    /// A reconcile ended. Who got a slot.
    pub fn reconciled(&self, key: &Key, now: i64, jobs: impl FnOnce() -> JobsUnderWay) -> Vec<Key> {
        let mut slots = self.lock();
        slots.reconciled(key, now, &jobs())
    }

    /// A Job came, ended or went. Who got a slot.
    pub fn job_changed(&self, jobs: impl FnOnce() -> JobsUnderWay) -> Vec<Key> {
        let mut slots = self.lock();
        slots.give(&jobs())
    }

    fn lock(&self) -> MutexGuard<'_, Slots> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
