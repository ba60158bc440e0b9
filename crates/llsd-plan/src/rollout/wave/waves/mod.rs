//! Who of all servers may change next because of shared inputs. No clock and no client: the controller says who
//! asks, what became of a server, and how many there are.
//!
//! There may be many thousands of servers, and each reconcile ends here. So nothing is counted that is not touched,
//! and who waits is told once of what is new.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::budget::Fleet;
use super::line::WaveLine;
use super::order::{Order, WavePlace};
use super::record::{Member, Wave, share_an_input};
use super::servers::{KnownServers, Servers};
use crate::resource::Key;

/// All servers that change because of shared inputs, or wait for that.
#[derive(Clone, Debug)]
pub struct Waves {
    fleet: Fleet,
    /// Those that a shared change has reached, and that have not proven themselves with it yet.
    members: HashMap<Key, Member>,
    failed: BTreeSet<Key>,
    /// Those that may change, and whose Deployments do not say so yet.
    granted: HashMap<Key, Grant>,
    /// Those that are changing now, or are about to. One that failed is none of them: where its place counts, its
    /// [`WaveLine`] knows that.
    changing: Servers,
    waiters: HashMap<Key, Waiter>,
    order: Order,
    /// Those that wait, by the new values of their inputs.
    lines: BTreeMap<Arc<[String]>, WaveLine>,
    /// Those whose reconcile has asked.
    asked: HashSet<Key>,
    joined: u64,
    /// The time, in seconds, and for how long those that a change reaches gather before the first has its turn.
    now: i64,
    gathering: i64,
    /// Those that have to be reconciled: they may go now, or do not know yet that their wave was stopped, or
    /// continues.
    woken: BTreeSet<Key>,
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
    /// Servers wait for others that failed.
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
    /// It could change now. One whose change is checked first waits with the others, and holds up none of them.
    pub is_ready: bool,
}

#[derive(Clone, Debug)]
struct Grant {
    inputs: Arc<[String]>,
    /// Its place in the line, should it have to wait again.
    joined: u64,
    is_canary: bool,
    /// It knows.
    is_taken: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Waiter {
    inputs: Arc<[String]>,
    place: WavePlace,
    is_ready: bool,
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
    pub changing: KnownServers,
    /// Those that failed, if that stops all others.
    pub failed: KnownServers,
    /// Those that come first and that others wait for. Empty for a canary.
    pub canaries: KnownServers,
    /// Whether its change has been checked, or needs no check.
    pub is_ready: bool,
}

/// How far all changes of shared inputs are, in servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaveProgress {
    pub changing: usize,
    pub failed: usize,
    pub waiting: usize,
}

impl Waiting {
    /// How people are told first that servers failed, and that the others do not go on.
    pub const STOPPED: &str = "Stopped";

    /// Whether servers that failed keep it from going on.
    pub fn is_stopped(&self) -> bool {
        !self.failed.is_empty()
    }
}

/// For so many seconds those gather that a change reaches, so that the right ones come first: the operator learns
/// from one reconcile after the other whom it reaches.
pub const GATHERING: i64 = 5;

impl Waves {
    /// As the Deployments of all servers tell it. Those that a change reaches gather for so many seconds.
    pub fn of_members(
        members: impl IntoIterator<Item = (Key, Member)>,
        fleet: Fleet,
        gathering: i64,
    ) -> Self {
        let mut waves = Self {
            fleet,
            members: HashMap::new(),
            failed: BTreeSet::new(),
            granted: HashMap::new(),
            changing: Servers::default(),
            waiters: HashMap::new(),
            order: Order::default(),
            lines: BTreeMap::new(),
            asked: HashSet::new(),
            joined: 0,
            now: 0,
            gathering,
            woken: BTreeSet::new(),
            course: Course::Idle,
        };
        for (key, member) in members {
            waves.set_member(&key, Some(member));
        }
        // Another operator has told of it.
        waves.course = waves.course_now();
        waves
    }

    /// Takes in how many servers there are, and what is allowed.
    pub fn set_fleet(&mut self, fleet: Fleet) {
        let before = std::mem::replace(&mut self.fleet, fleet);
        if (before.allowed(), before.budget) != (fleet.allowed(), fleet.budget) {
            self.settle_lines();
        } else if before.opens_at.is_some() == fleet.opens_at.is_some() {
            return;
        }
        self.grant();
    }

    fn settle_lines(&mut self) {
        for line in self.lines.values_mut() {
            self.woken.extend(settle_all(line, &self.changing, self.fleet));
        }
    }

    /// Takes in what time it is.
    pub fn set_time(&mut self, now: i64) {
        if self.now != now {
            self.now = now;
            self.grant();
        }
    }

    /// Gives a server its turn, or says why it has to wait.
    pub fn ask(&mut self, candidate: &Candidate) -> Result<(), Box<Waiting>> {
        let Candidate { key, wave, is_ready, .. } = candidate;
        self.asked.insert(key.clone());
        let inputs: Arc<[String]> = wave.inputs.clone().into();
        let may_go = |grant: &Grant| {
            let is_it = *is_ready && grant.inputs == inputs;
            is_it && (grant.is_taken || !self.is_stopped(&inputs, &key.namespace))
        };
        if !self.granted.get(key).is_some_and(may_go) {
            let joined = self.give_back(key).map(|grant| grant.joined);
            self.join(candidate, &inputs, joined);
            self.grant();
        }
        // Whatever it was to be told, it is told now.
        self.woken.remove(key);
        if let Some(grant) = self.granted.get_mut(key) {
            grant.is_taken = true;
            return Ok(());
        }
        Err(Box::new(self.why(candidate)))
    }

    /// A reconcile of a server ended, and its Deployment tells this. One that did not ask waits for nothing; one
    /// that asked before it was granted its turn is about to ask again.
    pub fn ended(&mut self, key: &Key, member: Option<Member>) {
        self.set_member(key, member);
        let has_asked = self.asked.remove(key);
        if self.granted.get(key).is_some_and(|grant| grant.is_taken || !has_asked) {
            self.give_back(key);
        }
        if !has_asked {
            self.leave(key);
        }
        self.grant();
    }

    /// Takes in what became of a server.
    pub fn set_member(&mut self, key: &Key, member: Option<Member>) {
        if self.members.get(key) == member.as_ref() {
            return;
        }
        if member.as_ref().is_some_and(Member::has_failed) {
            self.failed.insert(key.clone());
        } else {
            self.failed.remove(key);
        }
        for line in self.lines.values_mut() {
            let was_stopped = line.is_stopped(self.fleet);
            line.see(key, member.as_ref());
            if line.is_stopped(self.fleet) != was_stopped {
                self.woken.extend(settle_all(line, &self.changing, self.fleet));
            }
        }
        match member {
            Some(member) => drop(self.members.insert(key.clone(), member)),
            None => drop(self.members.remove(key)),
        }
        self.count(key);
    }

    /// Those that have to be reconciled, each once for all that is new.
    pub fn take_woken(&mut self) -> Vec<Key> {
        std::mem::take(&mut self.woken).into_iter().collect()
    }

    /// How they go, and how they went when this was asked last.
    pub fn course(&mut self) -> (Course, Course) {
        let now = self.course_now();
        (std::mem::replace(&mut self.course, now), now)
    }

    pub fn progress(&self) -> WaveProgress {
        let (changing, failed) = (self.changing.len(), self.failed.len());
        WaveProgress { changing, failed, waiting: self.waiters.len() }
    }

    fn course_now(&self) -> Course {
        if self.lines.values().any(WaveLine::is_stopped_somewhere) {
            Course::Stopped
        } else if self.waiters.is_empty() && self.changing.len() == 0 {
            Course::Idle
        } else {
            Course::UnderWay
        }
    }

    fn join(&mut self, candidate: &Candidate, inputs: &Arc<[String]>, joined: Option<u64>) {
        let Candidate { key, neighbours, is_ready, .. } = candidate;
        let known = self.waiters.get(key);
        let joined = known.map(|waiter| waiter.place.joined).or(joined).unwrap_or(self.joined + 1);
        let follows_canaries = !candidate.wave.canary;
        let place = WavePlace { follows_canaries, neighbours: *neighbours, joined };
        let waiter = Waiter { inputs: Arc::clone(inputs), place, is_ready: *is_ready };
        if known == Some(&waiter) {
            return;
        }
        self.leave(key);
        self.joined = self.joined.max(joined);
        self.order.insert(place);
        if !self.lines.contains_key(inputs) {
            let line = self.new_line(inputs);
            self.lines.insert(Arc::clone(inputs), line);
        }
        if let Some(line) = self.lines.get_mut(inputs) {
            line.join(key, place, *is_ready);
        }
        self.waiters.insert(key.clone(), waiter);
        self.settle(key);
    }

    fn leave(&mut self, key: &Key) -> Option<Waiter> {
        let waiter = self.waiters.remove(key)?;
        self.order.remove(waiter.place);
        if let Some(line) = self.lines.get_mut(&waiter.inputs) {
            line.leave(key, waiter.place);
        }
        self.settle(key);
        if self.lines.get(&waiter.inputs).is_some_and(WaveLine::is_empty) {
            self.lines.remove(&waiter.inputs);
        }
        Some(waiter)
    }

    /// Gives their turn to all that may have it.
    fn grant(&mut self) {
        while let Some(key) = self.first() {
            let Some(Waiter { inputs, place, .. }) = self.waiters.get(&key).cloned() else {
                return;
            };
            let WavePlace { follows_canaries, joined, .. } = place;
            let grant = Grant { inputs, joined, is_canary: !follows_canaries, is_taken: false };
            self.granted.insert(key.clone(), grant);
            self.leave(&key);
            self.count(&key);
            self.woken.insert(key);
        }
    }

    /// The first of all that wait that may go now.
    fn first(&self) -> Option<Key> {
        let free = self.fleet.allowed().saturating_sub(self.changing.len());
        if self.fleet.opens_at.is_some() {
            return None;
        }
        // One that failed with the same value and does not serve keeps its place against these; for others it is
        // down for reasons that are none of theirs.
        // Also where the clock was set back.
        let has_gathered =
            |line: &WaveLine| !(0..self.gathering).contains(&(self.now - line.begun()));
        let lines = self.lines.values().filter(|line| line.down() < free && has_gathered(line));
        lines.filter_map(WaveLine::first).min().map(|(_, key)| key.clone())
    }

    fn give_back(&mut self, key: &Key) -> Option<Grant> {
        let grant = self.granted.remove(key)?;
        self.count(key);
        Some(grant)
    }

    /// Whether servers that failed keep those of a namespace from going on, of which none may wait now.
    fn is_stopped(&self, inputs: &Arc<[String]>, namespace: &str) -> bool {
        !self.failed.is_empty() && self.new_line(inputs).is_stopped_in(namespace, self.fleet)
    }

    /// In which no server waits yet.
    fn new_line(&self, inputs: &Arc<[String]>) -> WaveLine {
        let mut line = WaveLine::new(Arc::clone(inputs), self.now);
        for key in &self.failed {
            line.see(key, self.members.get(key));
        }
        for key in self.changing.iter() {
            let is_awaited = self.canary_values(key).any(|values| share_an_input(values, inputs));
            line.await_canary(key, is_awaited);
        }
        line
    }

    /// The values for which a server waits, or because of which it changes, if it is a canary.
    fn canary_values(&self, key: &Key) -> impl Iterator<Item = &[String]> {
        let waits = self.waiters.get(key).filter(|waiter| !waiter.place.follows_canaries);
        let may = self.granted.get(key).filter(|grant| grant.is_canary);
        let changes =
            self.members.get(key).filter(|member| member.wave.canary && member.is_changing());
        let values = [
            waits.map(|waiter| &*waiter.inputs),
            may.map(|grant| &*grant.inputs),
            changes.map(|member| &*member.wave.inputs),
        ];
        values.into_iter().flatten()
    }

    /// Counts a server among those that are changing, or no more.
    fn count(&mut self, key: &Key) {
        let is_changing = self.members.get(key).is_some_and(Member::is_changing);
        if is_changing || self.granted.contains_key(key) {
            self.changing.insert(key);
        } else {
            self.changing.remove(key);
        }
        self.settle(key);
    }

    /// Looks again who may go, after something became of one server.
    fn settle(&mut self, key: &Key) {
        let changing = self.changing.in_namespace(&key.namespace);
        let mut lines = std::mem::take(&mut self.lines);
        let values: Vec<&[String]> = self.canary_values(key).collect();
        let mut news = Vec::new();
        for (inputs, line) in &mut lines {
            let is_awaited = values.iter().any(|values| share_an_input(values, inputs));
            let was_stopped = line.is_stopped(self.fleet);
            let is_news = line.await_canary(key, is_awaited);
            if is_news || line.is_stopped(self.fleet) != was_stopped {
                news.extend(settle_all(line, &self.changing, self.fleet));
            } else {
                news.extend(line.settle(&key.namespace, changing, self.fleet));
            }
        }
        self.lines = lines;
        self.woken.extend(news);
    }

    fn why(&self, candidate: &Candidate) -> Waiting {
        let Candidate { key, wave, inputs, is_ready, .. } = candidate;
        let line = self.lines.get(&*wave.inputs);
        let place = self.waiters.get(key).map(|waiter| waiter.place);
        Waiting {
            inputs: inputs.clone(),
            fleet: self.fleet,
            ahead: place.map_or(0, |place| self.order.ahead_of(place)),
            changing: self.changing.seen_from(&key.namespace),
            failed: line.map(|line| line.stopped_by(&key.namespace)).unwrap_or_default(),
            canaries: line
                .filter(|_| !wave.canary)
                .map(|line| line.canaries_from(&key.namespace))
                .unwrap_or_default(),
            is_ready: *is_ready,
        }
    }
}

fn settle_all(line: &mut WaveLine, changing: &Servers, fleet: Fleet) -> Vec<Key> {
    let mut news = Vec::new();
    for namespace in line.namespaces() {
        news.extend(line.settle(&namespace, changing.in_namespace(&namespace), fleet));
    }
    news
}

#[cfg(test)]
mod tests;
