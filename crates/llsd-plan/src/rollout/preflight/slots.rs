//! Who gets the next slot for a preflight Job. Namespaces take turns, so that one with hundreds of changes delays
//! another with a single one by no more than one Job; within a namespace the change that has waited longest is first.
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
    /// Since when each one waits that stands in a line.
    waiting: HashMap<Key, i64>,
    /// How many slots were given so far.
    given: u64,
}

/// Those of one namespace.
#[derive(Debug)]
struct Line {
    /// The smallest is next, among namespaces with equally many slots.
    turn: u64,
    waiting: BTreeSet<(i64, Key)>,
}

impl Slots {
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            granted: BTreeSet::new(),
            lines: BTreeMap::new(),
            waiting: HashMap::new(),
            given: 0,
        }
    }

    /// Puts a resource in line whose change waits since then. One that has a slot, or stands in line, keeps it.
    pub fn ask(&mut self, key: &Key, since: i64) {
        if self.granted.contains(key) || self.waiting.get(key) == Some(&since) {
            return;
        }
        self.leave(key);
        // As if its turn came with the slot that was given last: it is neither before those who wait, nor after those
        // who have just had one.
        let turn = self.given;
        let new = || Line { turn, waiting: BTreeSet::new() };
        let line = self.lines.entry(Arc::clone(&key.namespace)).or_insert_with(new);
        line.waiting.insert((since, key.clone()));
        self.waiting.insert(key.clone(), since);
    }

    /// The resource needs no slot, or no other than that of its Job.
    pub fn leave(&mut self, key: &Key) {
        self.granted.remove(key);
        let Some(since) = self.waiting.remove(key) else { return };
        if let Some(line) = self.lines.get_mut(&key.namespace) {
            line.waiting.remove(&(since, key.clone()));
        }
    }

    pub fn has_slot(&self, key: &Key) -> bool {
        self.granted.contains(key)
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
    /// longest ago.
    fn next(&mut self, taken: &HashMap<Arc<str>, usize>) -> Option<Key> {
        let with_next = self.lines.iter_mut().filter_map(|(name, line)| {
            let first = line.waiting.first()?.clone();
            Some(((taken.get(name).copied().unwrap_or(0), line.turn, first), line))
        });
        let ((_, _, first), line) = with_next.min_by(|(one, _), (other, _)| one.cmp(other))?;
        line.waiting.remove(&first);
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
