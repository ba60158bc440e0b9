//! Who of all servers may change next because of shared inputs. No clock and no client: the controller says who
//! asks, what became of a server, and how many there are.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::budget::Fleet;
use super::record::{Member, Wave};
use crate::resource::Key;

/// All servers that change because of shared inputs, or wait for that.
#[derive(Clone, Debug, Default)]
pub struct Waves {
    /// Those that a shared change has reached, and that do not run with it yet.
    members: BTreeMap<Key, Member>,
    /// Those that may change, and whose Deployments do not say so yet.
    granted: BTreeMap<Key, Wave>,
    /// Those that wait, in their order.
    line: BTreeMap<Place, Waiter>,
    places: HashMap<Key, Place>,
    /// Those whose reconcile has asked.
    asked: BTreeSet<Key>,
    joined: u64,
    /// What was told of them last.
    course: Course,
}

/// How changes of shared inputs go, as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Course {
    /// None is under way.
    #[default]
    Idle,
    UnderWay,
    /// Servers wait for one that failed too often.
    Stopped,
}

/// A server that asks for its turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub key: Key,
    pub wave: Wave,
    /// The inputs in the words that people are told.
    pub inputs: Vec<String>,
    /// How many servers its namespace has: where few are, little is at stake.
    pub neighbours: usize,
}

#[derive(Clone, Debug)]
struct Waiter {
    candidate: Candidate,
    /// Whether it knows that its wave is stopped.
    knows_of_stop: bool,
}

/// Small namespaces come first, and in them who has waited longest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    neighbours: usize,
    joined: u64,
}

/// Why a server waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The inputs in the words that people are told.
    pub inputs: Vec<String>,
    pub fleet: Fleet,
    /// How many servers come before it.
    pub ahead: usize,
    /// Those that are changing.
    pub changing: Vec<Key>,
    /// Those that failed, if that stops all others.
    pub failed: Vec<Key>,
}

/// How far all changes of shared inputs are, in servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaveProgress {
    pub changing: usize,
    pub failed: usize,
    pub waiting: usize,
}

impl WaveProgress {
    /// Of servers that a change has reached, and of so many that wait.
    pub fn of_members<'a>(members: impl Iterator<Item = &'a Member>, waiting: usize) -> Self {
        let mut progress = Self { waiting, ..Self::default() };
        for member in members {
            let state =
                if member.has_failed { &mut progress.failed } else { &mut progress.changing };
            *state += 1;
        }
        progress
    }
}

impl Waiting {
    /// How people are told first that too many servers failed.
    pub const STOPPED: &str = "Stopped";

    /// Whether too many servers failed.
    pub fn is_stopped(&self) -> bool {
        !self.failed.is_empty()
    }
}

impl Waves {
    /// As the Deployments of all servers tell it.
    pub fn of_members(members: impl IntoIterator<Item = (Key, Member)>) -> Self {
        let members: BTreeMap<Key, Member> = members.into_iter().collect();
        // Another operator has told of it.
        let is_under_way = members.values().any(|member| member.is_changing);
        let course = if is_under_way { Course::UnderWay } else { Course::Idle };
        Self { members, course, ..Self::default() }
    }

    /// How they go, and how they went when this was asked last.
    pub fn course(&mut self, fleet: Fleet) -> (Course, Course) {
        let mut waiting = self.line.values().map(|waiter| &waiter.candidate.wave);
        let now = if waiting.any(|wave| self.is_stopped(wave, fleet)) {
            Course::Stopped
        } else if self.line.is_empty() && self.changing().is_empty() {
            Course::Idle
        } else {
            Course::UnderWay
        };
        (std::mem::replace(&mut self.course, now), now)
    }

    /// Gives a server its turn, or says why it has to wait.
    pub fn ask(&mut self, candidate: Candidate, fleet: Fleet) -> Result<(), Waiting> {
        let key = candidate.key.clone();
        self.asked.insert(key.clone());
        if let Some(granted) = self.granted.get_mut(&key) {
            *granted = candidate.wave;
            return Ok(());
        }
        let place = self.join(candidate);
        if self.next(fleet).contains(&key) {
            let waiter = self.leave(&key);
            self.granted.extend(waiter.map(|waiter| (key, waiter.candidate.wave)));
            return Ok(());
        }
        let waiting = self.why(&place, fleet);
        if let Some(waiter) = self.line.get_mut(&place) {
            waiter.knows_of_stop = waiting.is_stopped();
        }
        Err(waiting)
    }

    /// A reconcile of a server ended, and its Deployment tells this. One that did not ask waits for nothing.
    pub fn ended(&mut self, key: &Key, member: Option<Member>) {
        self.granted.remove(key);
        match member {
            Some(member) => drop(self.members.insert(key.clone(), member)),
            None => drop(self.members.remove(key)),
        }
        if !self.asked.remove(key) {
            self.leave(key);
        }
    }

    /// Those of all that wait that may go now, in order.
    pub fn next(&self, fleet: Fleet) -> Vec<Key> {
        let mut taken: HashMap<Arc<str>, usize> = HashMap::new();
        let mut free = fleet.allowed();
        for key in self.changing() {
            *taken.entry(Arc::clone(&key.namespace)).or_default() += 1;
            free = free.saturating_sub(1);
        }
        let mut next = Vec::new();
        for Waiter { candidate: Candidate { key, wave, .. }, .. } in self.line.values() {
            if free == 0 {
                break;
            }
            let in_namespace = taken.entry(Arc::clone(&key.namespace)).or_default();
            if *in_namespace >= fleet.budget.per_namespace || self.is_stopped(wave, fleet) {
                continue;
            }
            *in_namespace += 1;
            free -= 1;
            next.push(key.clone());
        }
        next
    }

    /// Those that wait and have to be reconciled: they may go now, or do not know yet that their wave was
    /// stopped, or continues.
    pub fn to_wake(&self, fleet: Fleet) -> Vec<Key> {
        let is_news = |waiter: &&Waiter| {
            waiter.knows_of_stop != self.is_stopped(&waiter.candidate.wave, fleet)
        };
        let told = self.line.values().filter(is_news);
        let mut woken = self.next(fleet);
        woken.extend(told.map(|waiter| waiter.candidate.key.clone()));
        woken
    }

    /// How many servers wait.
    pub fn waiting(&self) -> usize {
        self.line.len()
    }

    fn join(&mut self, candidate: Candidate) -> Place {
        let Candidate { key, neighbours, .. } = &candidate;
        let joined = self.places.get(key).map(|place| place.joined);
        let joined = joined.unwrap_or_else(|| {
            self.joined += 1;
            self.joined
        });
        let (key, place) = (key.clone(), Place { neighbours: *neighbours, joined });
        let knows_of_stop = self.leave(&key).is_some_and(|waiter| waiter.knows_of_stop);
        self.places.insert(key, place.clone());
        self.line.insert(place.clone(), Waiter { candidate, knows_of_stop });
        place
    }

    fn leave(&mut self, key: &Key) -> Option<Waiter> {
        let place = self.places.remove(key)?;
        self.line.remove(&place)
    }

    /// Those that are changing now, or are about to.
    fn changing(&self) -> BTreeSet<&Key> {
        let members = self.members.iter().filter(|(_, member)| member.is_changing);
        members.map(|(key, _)| key).chain(self.granted.keys()).collect()
    }

    fn failed(&self, wave: &Wave) -> impl Iterator<Item = &Key> {
        let failed = |member: &Member| member.has_failed && member.wave.has_input_of(wave);
        self.members.iter().filter(move |(_, member)| failed(member)).map(|(key, _)| key)
    }

    fn is_stopped(&self, wave: &Wave, fleet: Fleet) -> bool {
        self.failed(wave).count() >= fleet.budget.stop_after_failures
    }

    fn why(&self, place: &Place, fleet: Fleet) -> Waiting {
        let candidate = self.line.get(place).map(|waiter| &waiter.candidate);
        let (wave, inputs) =
            candidate.map(|it| (it.wave.clone(), it.inputs.clone())).unwrap_or_default();
        let failed = if self.is_stopped(&wave, fleet) {
            self.failed(&wave).cloned().collect()
        } else {
            Vec::new()
        };
        Waiting {
            inputs,
            fleet,
            ahead: self.line.range(..place).count(),
            changing: self.changing().into_iter().cloned().collect(),
            failed,
        }
    }
}

#[cfg(test)]
mod tests;
