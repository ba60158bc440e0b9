//! The slots for preflight Jobs as workers share them. Who asked in a reconcile keeps its place in line until the next;
//! who did not ask leaves it. The Jobs are counted under the lock: a slot that was given is left only once its Job is
//! among them, so none counts for nothing in between.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use llsd_plan::resource::Key;
use llsd_plan::rollout::preflight::{JobsUnderWay, Slots};

#[derive(Debug)]
pub struct PreflightSlots(Mutex<State>);

#[derive(Debug)]
struct State {
    slots: Slots,
    /// Who asked in a reconcile that has not ended.
    asked: HashSet<Key>,
}

impl PreflightSlots {
    pub fn new(limit: usize) -> Self {
        Self(Mutex::new(State { slots: Slots::new(limit), asked: HashSet::new() }))
    }

    /// Asks for a slot, for a change that waits since then. Whether it has one, and who else got one.
    pub fn ask(
        &self,
        key: &Key,
        since: i64,
        jobs: impl FnOnce() -> JobsUnderWay,
    ) -> (bool, Vec<Key>) {
        let mut state = self.lock();
        state.slots.ask(key, since);
        state.asked.insert(key.clone());
        let mut given = state.slots.give(&jobs());
        given.retain(|next| next != key);
        (state.slots.has_slot(key), given)
    }

    /// Its Job could not be made: the slot is for others until it asks again.
    pub fn give_back(&self, key: &Key) {
        let mut state = self.lock();
        state.asked.remove(key);
        state.slots.leave(key);
    }

    /// A reconcile ended. Who got a slot.
    pub fn reconciled(&self, key: &Key, jobs: impl FnOnce() -> JobsUnderWay) -> Vec<Key> {
        let mut state = self.lock();
        if !state.asked.remove(key) {
            state.slots.leave(key);
        }
        state.slots.give(&jobs())
    }

    /// A Job came, ended or went. Who got a slot.
    pub fn job_changed(&self, jobs: impl FnOnce() -> JobsUnderWay) -> Vec<Key> {
        self.lock().slots.give(&jobs())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_kept_from_one_reconcile_to_the_next_and_left_by_who_does_not_ask() {
        let slots = PreflightSlots::new(1);
        let none = JobsUnderWay::new;
        let [first, second] = ["first", "second"].map(|name| Key::new("ns", name));
        assert_eq!(slots.ask(&first, 1, none), (true, vec![]));
        assert_eq!(slots.reconciled(&first, none), vec![]);
        assert_eq!(slots.ask(&second, 2, none), (false, vec![]));
        assert_eq!(slots.reconciled(&second, none), vec![], "the first has it still");
        // Its Job is there now, and its next reconcile asks for nothing.
        let running = || JobsUnderWay::from([(first.clone(), 1)]);
        assert_eq!(slots.reconciled(&first, running), vec![]);
        assert_eq!(slots.job_changed(none), vec![second.clone()], "it is woken");
        assert_eq!(slots.ask(&second, 2, none), (true, vec![]));
    }

    #[test]
    fn what_a_job_could_not_be_made_with_is_the_next_ones() {
        let slots = PreflightSlots::new(1);
        let none = JobsUnderWay::new;
        let [first, second] = ["first", "second"].map(|name| Key::new("ns", name));
        slots.ask(&first, 1, none);
        slots.ask(&second, 2, none);
        slots.reconciled(&second, none);
        slots.give_back(&first);
        assert_eq!(slots.reconciled(&first, none), vec![second]);
        assert_eq!(slots.ask(&first, 1, none), (false, vec![]), "it waits again");
    }
}
