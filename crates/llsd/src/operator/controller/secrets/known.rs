//! What is kept of one Secret between two looks at it: never a value.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use llsd_plan::facts::SecretKeyFacts;
use llsd_plan::resource::Key;
use tokio::time::Instant;

/// Namespace and name of a Secret.
pub(super) type Address = (Arc<str>, Box<str>);
/// What may be known of a Secret's values, by key.
pub(super) type Keys = BTreeMap<String, SecretKeyFacts>;

#[derive(Debug)]
pub(super) struct KnownSecret {
    pub(super) read: Instant,
    pub(super) users: HashSet<Key>,
    /// Hashes of the values by key; `None` while the Secret is missing.
    pub(super) hashes: Option<Keys>,
    /// Why it may not be read.
    pub(super) forbidden: Option<Box<str>>,
    /// The certificate in it, which is no secret: the server shows it to everybody.
    pub(super) certificate: Option<Box<[u8]>>,
    /// Of a Secret that the operator itself writes, where any change is put right.
    pub(super) own: Option<Own>,
}

impl KnownSecret {
    /// Nobody refers to it yet.
    pub(super) fn new() -> Self {
        Self {
            read: Instant::now(),
            users: HashSet::new(),
            hashes: None,
            forbidden: None,
            certificate: None,
            own: None,
        }
    }
}

/// A Secret of the operator's own making, as it was when it was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Own {
    NotRead,
    Missing,
    Version(Box<str>),
}

/// All Secrets that resources refer to, and which resource refers to which: none is looked for among all.
#[derive(Debug, Default)]
pub(super) struct KnownSecrets {
    secrets: HashMap<Address, KnownSecret>,
    names: HashMap<Key, BTreeSet<Box<str>>>,
}

impl KnownSecrets {
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Address, &KnownSecret)> {
        self.secrets.iter()
    }

    pub(super) fn get_mut(&mut self, address: &Address) -> Option<&mut KnownSecret> {
        self.secrets.get_mut(address)
    }

    /// A Secret that a resource refers to, or that some other one does where none is given.
    pub(super) fn entry(
        &mut self,
        namespace: &str,
        name: &str,
        user: Option<&Key>,
    ) -> Option<&mut KnownSecret> {
        match user {
            Some(user) => Some(self.used_by(user, name)),
            None => self.get_mut(&(namespace.into(), name.into())),
        }
    }

    /// A Secret, known from now on to be referred to by this resource.
    pub(super) fn used_by(&mut self, user: &Key, name: &str) -> &mut KnownSecret {
        self.names.entry(user.clone()).or_default().insert(name.into());
        let address = (user.namespace.clone(), name.into());
        let known = self.secrets.entry(address).or_insert_with(KnownSecret::new);
        known.users.insert(user.clone());
        known
    }

    /// Forgets what a resource does not refer to any more.
    pub(super) fn forget_uses(&mut self, user: &Key, is_used: impl Fn(&str, &KnownSecret) -> bool) {
        let Some(names) = self.names.get_mut(user) else { return };
        names.retain(|name| {
            let address = (user.namespace.clone(), name.clone());
            let Some(known) = self.secrets.get_mut(&address) else { return false };
            if is_used(name, known) {
                return true;
            }
            known.users.remove(user);
            if known.users.is_empty() {
                self.secrets.remove(&address);
            }
            false
        });
        if names.is_empty() {
            self.names.remove(user);
        }
    }

    /// Forgets a Secret; who referred to it.
    pub(super) fn remove(&mut self, address: &Address) -> HashSet<Key> {
        let users = self.secrets.remove(address).map(|known| known.users).unwrap_or_default();
        for user in &users {
            if let Some(names) = self.names.get_mut(user) {
                names.remove(&address.1);
            }
        }
        users
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_known_while_a_resource_refers_to_it() {
        let (one, other) = (Key::new("ns", "one"), Key::new("ns", "other"));
        let mut known = KnownSecrets::default();
        for (user, name) in [(&one, "a"), (&one, "b"), (&other, "b")] {
            known.used_by(user, name);
        }
        known.forget_uses(&one, |name, _| name == "a");
        assert_eq!(known.iter().count(), 2, "another resource refers to b");
        known.forget_uses(&other, |_, _| false);
        let left: Vec<&str> = known.iter().map(|(address, _)| &*address.1).collect();
        assert_eq!(left, ["a"]);
        let address = (one.namespace.clone(), "a".into());
        assert_eq!(known.remove(&address), HashSet::from([one.clone()]));
        known.forget_uses(&one, |_, _| false);
        assert!(known.secrets.is_empty() && known.names.is_empty(), "{known:?}");
    }
}
