//! Who gets the next slot for a preflight Job. Namespaces take turns, so that one with hundreds of changes delays
//! another with a single one by no more than one Job; within a namespace the change that has waited longest is first.
//! A change that may bring back a server without available pods goes past the others.
//!
//! Nothing here is a record: the Jobs in the cluster say which slots are taken, and the status of each resource since
//! when it waits. Another leader builds the same lines again as the resources ask.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::resource::Key;

/// How many Jobs of each resource have not ended.
pub type JobsUnderWay = BTreeMap<Key, usize>;

/// The slots, and those who wait for one.
#[derive(Debug)]
pub struct Slots {
    limit: usize,
    /// Who got a slot, and whose Job is not there yet.
    granted: BTreeSet<Key>,
    lines: BTreeMap<Arc<str>, Line>,
    /// Where each one stands that is in a line.
    waiting: HashMap<Key, Place>,
    /// Who asked in a reconcile that has not ended.
    asking: HashMap<Key, Asking>,
    /// When those last gave a slot back that had one and made no Job.
    returned: HashMap<Key, i64>,
    /// How many slots were given so far.
    given: u64,
    /// The last one went to an urgent change, past the others.
    went_past: bool,
}

/// Those of one namespace.
#[derive(Debug)]
struct Line {
    /// The smallest is next, among namespaces with equally many slots.
    turn: u64,
    waiting: BTreeSet<(Place, Key)>,
}

/// A place in a line: the urgent ones stand first, and of equally urgent ones who waits for longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    urgency: Urgency,
    since: i64,
}

/// How urgent a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// No pod of the server is available, and the change may be what brings it back.
    Down,
    Serving,
}

/// What a reconcile that asked has done with the answer.
#[derive(Clone, Copy, Debug, Default)]
struct Asking {
    was_told: bool,
    has_made_job: bool,
}

impl Slots {
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            granted: BTreeSet::new(),
            lines: BTreeMap::new(),
            waiting: HashMap::new(),
            asking: HashMap::new(),
            returned: HashMap::new(),
            given: 0,
            went_past: false,
        }
    }

    /// Puts a resource in line whose change waits since then. One that has a slot, or stands in line, keeps it.
    pub fn ask(&mut self, key: &Key, since: i64, urgency: Urgency) {
        self.asking.entry(key.clone()).or_default();
        // Whoever could not use its slot is behind those who waited meanwhile.
        let since = self.returned.get(key).map_or(since, |returned| since.max(*returned));
        let place = Place { urgency, since };
        if self.granted.contains(key) || self.waiting.get(key) == Some(&place) {
            return;
        }
        self.leave_line(key);
        // As if its turn came with the slot that was given last: it is neither before those who wait, nor after those
        // who have just had one.
        let turn = self.given;
        let new = || Line { turn, waiting: BTreeSet::new() };
        let line = self.lines.entry(Arc::clone(&key.namespace)).or_insert_with(new);
        line.waiting.insert((place, key.clone()));
        self.waiting.insert(key.clone(), place);
    }

    /// Tells a resource that asks whether it has a slot.
    pub fn has_slot(&mut self, key: &Key) -> bool {
        let has_slot = self.granted.contains(key);
        if let Some(asking) = self.asking.get_mut(key).filter(|_| has_slot) {
            asking.was_told = true;
        }
        has_slot
    }

    /// A resource that asked has made its Job.
    pub fn job_made(&mut self, key: &Key) {
        self.asking.entry(key.clone()).or_default().has_made_job = true;
    }

    /// A reconcile of a resource ended; who got a slot. Whoever asked keeps its place until the next one, and whoever
    /// did not ask leaves it. A slot that led to no Job goes back, whatever was in the way: that may last, and the next
    /// one would wait for it.
    pub fn reconciled(&mut self, key: &Key, now: i64, jobs: &JobsUnderWay) -> Vec<Key> {
        match self.asking.remove(key) {
            None => self.leave(key),
            Some(asking) if asking.has_made_job || jobs.contains_key(key) => {
                self.returned.remove(key);
            }
            // One that was given a slot meanwhile does not know of it yet.
            Some(asking) if asking.was_told && self.granted.remove(key) => {
                self.returned.insert(key.clone(), now);
            }
            Some(_) => {}
        }
        self.give(jobs)
    }

    /// The resource needs no slot, or no other than that of its Job.
    fn leave(&mut self, key: &Key) {
        self.granted.remove(key);
        self.returned.remove(key);
        self.leave_line(key);
    }

    fn leave_line(&mut self, key: &Key) {
        let Some(place) = self.waiting.remove(key) else { return };
        if let Some(line) = self.lines.get_mut(&key.namespace) {
            line.waiting.remove(&(place, key.clone()));
        }
    }

    /// Gives the free slots to those whose turn it is, and names them.
    pub fn give(&mut self, jobs: &JobsUnderWay) -> Vec<Key> {
        let mut taken = self.taken(jobs);
        let mut free = self.limit.saturating_sub(taken.values().sum());
        let mut next = Vec::new();
        if free == 0 {
            return next;
        }
        while free > 0
            && let Some(key) = self.next(&taken)
        {
            free -= 1;
            *taken.entry(Arc::clone(&key.namespace)).or_default() += 1;
            next.push(key);
        }
        self.lines
            .retain(|namespace, line| !line.waiting.is_empty() || taken.contains_key(namespace));
        next
    }

    /// How many slots each namespace has. A Job that was made a moment ago is not counted beside its slot.
    fn taken(&self, jobs: &JobsUnderWay) -> HashMap<Arc<str>, usize> {
        let mut taken = HashMap::new();
        let granted = self.granted.iter().filter(|key| !jobs.contains_key(*key));
        let all = jobs.iter().map(|(key, jobs)| (key, *jobs)).chain(granted.map(|key| (key, 1)));
        for (key, number) in all {
            *taken.entry(Arc::clone(&key.namespace)).or_default() += number;
        }
        taken
    }

    /// Takes the next one out of its line: of a namespace with the fewest slots, of these the one whose turn is
    /// longest ago. Of two slots one goes past this order to an urgent change, where there is one: all others are only
    /// delayed by that.
    fn next(&mut self, taken: &HashMap<Arc<str>, usize>) -> Option<Key> {
        let is_urgent = |(place, _): &(Place, Key)| place.urgency == Urgency::Down;
        let goes_past = !self.went_past
            && self.lines.values().filter_map(|line| line.waiting.first()).any(is_urgent);
        let with_next = self.lines.iter_mut().filter_map(|(name, line)| {
            let first =
                line.waiting.first().filter(|first| !goes_past || is_urgent(first))?.clone();
            Some(((taken.get(name).copied().unwrap_or(0), line.turn, first), line))
        });
        let ((_, _, first), line) = with_next.min_by(|(one, _), (other, _)| one.cmp(other))?;
        line.waiting.remove(&first);
        self.went_past = goes_past;
        self.given += 1;
        // After all that asked before this slot was given.
        line.turn = self.given + 1;
        let (_, key) = first;
        self.waiting.remove(&key);
        self.granted.insert(key.clone());
        Some(key)
    }
}

#[cfg(test)]
mod tests;
