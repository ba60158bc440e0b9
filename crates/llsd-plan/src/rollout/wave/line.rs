//! Those that wait for the same new values of inputs, and what keeps them from going on: servers that failed with
//! these values, and namespaces without room. Whatever changes, only what it touches is looked at again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::budget::Fleet;
use super::order::WavePlace;
use super::record::{Member, share_an_input};
use super::servers::{KnownServers, Servers};
use crate::resource::Key;

/// The waiting servers of one or more namespaces.
#[derive(Clone, Debug)]
pub(super) struct WaveLine {
    inputs: Arc<[String]>,
    /// When the first joined, in seconds.
    begun: i64,
    /// Those that failed with one of these values, and of them those of which no pod serves.
    failed: Servers,
    down: Servers,
    /// Canaries that have not proven themselves with these values yet, and those that failed: no other server goes on.
    canaries: Servers,
    failed_canaries: Servers,
    groups: HashMap<Arc<str>, NamespaceLine>,
    /// The first of each namespace in which one may go.
    heads: BTreeMap<WavePlace, Key>,
    /// In how many namespaces the change is stopped.
    stopped: usize,
}

/// Those of one namespace.
#[derive(Clone, Debug, Default)]
struct NamespaceLine {
    ready: BTreeMap<WavePlace, Key>,
    /// Those whose change is checked first.
    in_preflight: BTreeSet<Key>,
    head: Option<WavePlace>,
    is_stopped: bool,
}

impl NamespaceLine {
    fn keys(&self) -> impl Iterator<Item = &Key> {
        self.ready.values().chain(&self.in_preflight)
    }
}

impl WaveLine {
    pub(super) fn new(inputs: Arc<[String]>, begun: i64) -> Self {
        Self {
            inputs,
            begun,
            failed: Servers::default(),
            down: Servers::default(),
            canaries: Servers::default(),
            failed_canaries: Servers::default(),
            groups: HashMap::new(),
            heads: BTreeMap::new(),
            stopped: 0,
        }
    }

    /// Takes in what became of a server that the change had reached.
    pub(super) fn see(&mut self, key: &Key, member: Option<&Member>) {
        let failed = member.filter(|member| {
            member.has_failed() && share_an_input(&member.wave.inputs, &self.inputs)
        });
        self.failed.set(key, failed.is_some());
        self.down.set(key, failed.is_some_and(Member::is_down));
        self.failed_canaries.set(key, failed.is_some_and(|member| member.wave.canary));
    }

    /// Notes whether a server is a canary that others have to wait for. Says whether that changes who has to.
    pub(super) fn await_canary(&mut self, key: &Key, is_awaited: bool) -> bool {
        let were_awaited = self.awaits_canaries();
        self.canaries.set(key, is_awaited);
        self.awaits_canaries() != were_awaited
    }

    /// Whether all but canaries wait for these.
    pub(super) fn awaits_canaries(&self) -> bool {
        self.canaries.len() > 0
    }

    /// The canaries that a server of this namespace waits for.
    pub(super) fn canaries_from(&self, namespace: &str) -> KnownServers {
        self.canaries.seen_from(namespace)
    }

    pub(super) fn join(&mut self, key: &Key, place: WavePlace, is_ready: bool) {
        let group = self.groups.entry(Arc::clone(&key.namespace)).or_default();
        if is_ready {
            group.ready.insert(place, key.clone());
        } else {
            group.in_preflight.insert(key.clone());
        }
    }

    pub(super) fn leave(&mut self, key: &Key, place: WavePlace) {
        if let Some(group) = self.groups.get_mut(&key.namespace) {
            group.ready.remove(&place);
            group.in_preflight.remove(key);
        }
    }

    pub(super) fn begun(&self) -> i64 {
        self.begun
    }

    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    pub(super) fn namespaces(&self) -> Vec<Arc<str>> {
        self.groups.keys().cloned().collect()
    }

    /// How many places those that failed and do not serve still take of it.
    pub(super) fn down(&self) -> usize {
        self.down.len()
    }

    /// The first that may go, as far as its namespace has room.
    pub(super) fn first(&self) -> Option<(WavePlace, &Key)> {
        self.heads.first_key_value().map(|(place, key)| (*place, key))
    }

    /// Whether it goes on nowhere: too many servers failed, or a canary, or those that failed alone leave no place,
    /// also if only a canary lacks one.
    pub(super) fn is_stopped(&self, fleet: Fleet) -> bool {
        self.failed.len() >= fleet.budget.stop_after_failures
            || self.failed_canaries.len() > 0
            || self.down.len() >= fleet.allowed()
            || self.canaries.namespaces().any(|namespace| self.is_full(namespace, fleet))
    }

    /// Whether those that failed leave no place in a namespace.
    fn is_full(&self, namespace: &str, fleet: Fleet) -> bool {
        self.down.in_namespace(namespace) >= fleet.budget.per_namespace
    }

    /// The same in one namespace.
    pub(super) fn is_stopped_in(&self, namespace: &str, fleet: Fleet) -> bool {
        self.is_stopped(fleet) || self.is_full(namespace, fleet)
    }

    /// Whether it does not go on in some namespace in which servers wait.
    pub(super) fn is_stopped_somewhere(&self) -> bool {
        self.stopped > 0
    }

    /// Those that failed, if that stops the others of a namespace.
    pub(super) fn stopped_by(&self, namespace: &str) -> KnownServers {
        let is_stopped = self.groups.get(namespace).is_some_and(|group| group.is_stopped);
        if is_stopped { self.failed.seen_from(namespace) } else { KnownServers::default() }
    }

    /// Looks again who of a namespace may go, where `changing` of its servers are. Returns those that do not know yet
    /// that their change was stopped, or continues.
    pub(super) fn settle(
        &mut self,
        namespace: &Arc<str>,
        changing: usize,
        fleet: Fleet,
    ) -> Vec<Key> {
        let is_stopped = self.is_stopped_in(namespace, fleet);
        let taken = changing + self.down.in_namespace(namespace);
        let may_go = !is_stopped && taken < fleet.budget.per_namespace;
        let only_canaries = self.awaits_canaries();
        let Some(group) = self.groups.get_mut(namespace) else { return Vec::new() };
        let may_go = |place: &WavePlace| may_go && !(only_canaries && place.follows_canaries);
        let head = group.ready.first_key_value().filter(|(place, _)| may_go(place));
        let head = head.map(|(place, key)| (*place, key.clone()));
        if let Some(before) = group.head.take() {
            self.heads.remove(&before);
        }
        group.head = head.as_ref().map(|(place, _)| *place);
        self.heads.extend(head);
        let was_stopped = std::mem::replace(&mut group.is_stopped, is_stopped);
        self.stopped = self.stopped + usize::from(is_stopped) - usize::from(was_stopped);
        let news =
            if is_stopped == was_stopped { Vec::new() } else { group.keys().cloned().collect() };
        if group.keys().next().is_none() {
            self.groups.remove(namespace);
            self.stopped -= usize::from(is_stopped);
        }
        news
    }
}
