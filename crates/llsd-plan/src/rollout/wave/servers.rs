//! Sets of servers, of which it is known at once how many are in a namespace.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::resource::Key;

/// More servers than these are counted, not named.
const NAMED: usize = 3;

/// Servers by their namespaces.
#[derive(Clone, Debug, Default)]
pub(super) struct Servers {
    by_namespace: HashMap<Arc<str>, BTreeSet<Key>>,
    count: usize,
}

/// Servers as users of a namespace may know them: some of its own by name, those of others as a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownServers {
    pub here: Vec<Key>,
    pub more_here: usize,
    pub elsewhere: usize,
}

impl Servers {
    /// Whether it was not among them.
    pub(super) fn insert(&mut self, key: &Key) -> bool {
        let here = self.by_namespace.entry(Arc::clone(&key.namespace)).or_default();
        let is_new = here.insert(key.clone());
        self.count += usize::from(is_new);
        is_new
    }

    /// Whether it was among them.
    pub(super) fn remove(&mut self, key: &Key) -> bool {
        let Some(here) = self.by_namespace.get_mut(&key.namespace) else { return false };
        let was_there = here.remove(key);
        self.count -= usize::from(was_there);
        if here.is_empty() {
            self.by_namespace.remove(&key.namespace);
        }
        was_there
    }

    /// Has it be among them, or not.
    pub(super) fn set(&mut self, key: &Key, is_among_them: bool) {
        if is_among_them {
            self.insert(key)
        } else {
            self.remove(key)
        };
    }

    pub(super) fn namespaces(&self) -> impl Iterator<Item = &str> {
        self.by_namespace.keys().map(|namespace| &**namespace)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Key> {
        self.by_namespace.values().flatten()
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn in_namespace(&self, namespace: &str) -> usize {
        self.by_namespace.get(namespace).map_or(0, BTreeSet::len)
    }

    pub(super) fn seen_from(&self, namespace: &str) -> KnownServers {
        let here: Vec<Key> = self
            .by_namespace
            .get(namespace)
            .map(|here| here.iter().take(NAMED).cloned().collect())
            .unwrap_or_default();
        let in_namespace = self.in_namespace(namespace);
        let more_here = in_namespace - here.len();
        KnownServers { here, more_here, elsewhere: self.count - in_namespace }
    }
}

impl KnownServers {
    pub fn is_empty(&self) -> bool {
        self.here.is_empty() && self.elsewhere == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_learn_names_of_their_own_namespace_alone() {
        let mut servers = Servers::default();
        for (namespace, name) in
            [("team", "a"), ("team", "b"), ("team", "c"), ("team", "d"), ("other", "e")]
        {
            assert!(servers.insert(&Key::new(namespace, name)));
            assert!(!servers.insert(&Key::new(namespace, name)));
        }
        let here = ["a", "b", "c"].map(|name| Key::new("team", name)).to_vec();
        let known = KnownServers { here, more_here: 1, elsewhere: 1 };
        assert_eq!((servers.len(), servers.seen_from("team")), (5, known));
        assert!(servers.remove(&Key::new("other", "e")) && !servers.remove(&Key::new("x", "e")));
        assert_eq!(servers.seen_from("other").elsewhere, 4);
    }
}
