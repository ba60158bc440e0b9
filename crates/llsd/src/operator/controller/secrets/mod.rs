//! Reads the Secrets that resources refer to, one request each, and notices when they change: the
//! operator may not list or watch Secrets, so each is asked for again after a while.

pub mod hash_key;
mod known;
mod values;

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use futures::stream;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use llsd_plan::facts::SecretFacts;
use llsd_plan::plan::references::References;
use llsd_plan::resource::Key;
use tokio::time::Instant;

use crate::operator::controller::secrets::hash_key::HashKey;
use crate::operator::controller::state::{Rights, safe_message};
use known::{Address, Keys, KnownSecret, KnownSecrets, Own};
use values::{SecretsRead, add_connection, hashes, wanted_keys};

/// How long what was read counts as fresh while a resource is worked on: its own children's events
/// bring it back several times within seconds.
const FRESH: Duration = Duration::from_secs(10);
/// How soon a Secret is read again that is missing, or that a resource cannot go on with.
const AWAITED: Duration = Duration::from_secs(5);
/// How often it is looked which Secrets are the most urgent, how many of them are read then, and how many at once: 512
/// requests a second at most, and one that is awaited does not wait for all others.
pub const ROUND: Duration = Duration::from_millis(500);
const IN_A_ROUND: usize = 256;
const AT_ONCE: usize = 8;

/// What is remembered of the Secrets that resources refer to.
#[derive(Debug)]
pub struct Secrets {
    key: HashKey,
    refresh: Duration,
    rights: Rights,
    known: Mutex<KnownSecrets>,
    /// Resources that cannot go on before one of their Secrets changes.
    waiting: Mutex<HashSet<Key>>,
}

impl Secrets {
    pub fn new(key: HashKey, refresh: Duration, rights: Rights) -> Self {
        Self { key, refresh, rights, known: Mutex::default(), waiting: Mutex::default() }
    }

    /// The hash of a text under the key of this installation.
    pub fn keyed_hash(&self, text: &[u8]) -> String {
        self.key.hash(text)
    }

    /// The key under which values are hashed.
    pub fn key(&self) -> &HashKey {
        &self.key
    }

    /// The facts about every Secret that a resource refers to.
    pub async fn facts(
        &self,
        client: &Client,
        key: &Key,
        references: &References,
    ) -> Result<SecretsRead, kube::Error> {
        let whole = references.whole_secrets.iter().map(String::as_str);
        let names: HashSet<&str> =
            references.secrets.iter().map(|(name, _)| name.as_str()).chain(whole).collect();
        self.forget_other_uses(key, |name, known| known.own.is_some() || names.contains(name));
        let mut all = SecretsRead::default();
        for name in names {
            // A connection string is not kept, so it is read each time.
            let connection = references.connection_string.as_ref();
            let connection = connection.filter(|(secret, _)| secret == name).map(|(_, key)| key);
            let known = self.fresh(key, name).filter(|_| connection.is_none());
            let found = match known {
                Some(known) => Some(known),
                None => match self.fetch(client, key, name, connection, &mut all.woken).await {
                    Ok(found) => found,
                    Err(error) => {
                        let why = self.rights.lacking(&error).ok_or(error)?;
                        let others = self.remember_forbidden(&key.namespace, name, &why, Some(key));
                        all.woken.extend(others);
                        let facts = SecretFacts { forbidden: Some(why), ..SecretFacts::default() };
                        all.facts.insert(name.to_owned(), facts);
                        continue;
                    }
                },
            };
            let is_whole = references.whole_secrets.contains(name);
            let is_wanted = |key: &String| {
                is_whole || references.secrets.contains(&(name.to_owned(), key.clone()))
            };
            all.facts.insert(name.to_owned(), wanted_keys(found, is_wanted));
        }
        Ok(all)
    }

    /// Reads a Secret of the operator's own making from time to time as well, and no other of them.
    pub fn keep_reading(&self, owner: &Key, name: Option<&str>) {
        self.forget_other_uses(owner, |known_name, known| {
            known.own.is_none() || Some(known_name) == name
        });
        let Some(name) = name else { return };
        self.lock().used_by(owner, name).own.get_or_insert(Own::NotRead);
    }

    async fn fetch(
        &self,
        client: &Client,
        user: &Key,
        name: &str,
        connection: Option<&String>,
        woken: &mut Vec<Key>,
    ) -> Result<Option<Keys>, kube::Error> {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), &user.namespace);
        let found = secrets.get_opt(name).await?;
        let hashes = found.as_ref().map(|secret| hashes(&self.key, secret));
        woken.extend(self.remember(&user.namespace, name, found.as_ref(), Some(user)));
        let Some(mut hashes) = hashes else { return Ok(None) };
        if let (Some(field), Some(found)) = (connection, &found) {
            add_connection(&mut hashes, found, field);
        }
        Ok(Some(hashes))
    }

    /// Reads Secrets again that were not read for a while; which resources a change wakes.
    pub async fn refresh(&self, client: &Client) -> Vec<Key> {
        let reads = self.next_round().into_iter().map(|address| self.read_again(client, address));
        let woken: Vec<Vec<Key>> = stream::iter(reads).buffer_unordered(AT_ONCE).collect().await;
        woken.concat()
    }

    /// What is read again in this round: awaited Secrets first. They leave half of it to others, and namespaces take
    /// turns, so that no resource with thousands of Secrets delays what changes elsewhere.
    fn next_round(&self) -> Vec<Address> {
        let waiting = self.waiting();
        let known = self.lock();
        let (mut awaited, mut others) = (Vec::new(), Vec::new());
        for (address, known) in known.iter() {
            let (wait, due) = if is_awaited(known, &waiting) {
                (AWAITED.min(self.refresh), &mut awaited)
            } else {
                (self.refresh, &mut others)
            };
            let age = known.read.elapsed();
            if age >= wait {
                due.push((Reverse(age), address));
            }
        }
        let awaited = in_turn(awaited, IN_A_ROUND - others.len().min(IN_A_ROUND / 2));
        let others = in_turn(others, IN_A_ROUND - awaited.len());
        awaited.into_iter().chain(others).cloned().collect()
    }

    async fn read_again(&self, client: &Client, (namespace, name): Address) -> Vec<Key> {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), &namespace);
        let error = match secrets.get_opt(&name).await {
            Ok(found) => return self.remember(&namespace, &name, found.as_ref(), None),
            Err(error) => error,
        };
        if let Some(why) = self.rights.lacking(&error) {
            return self.remember_forbidden(&namespace, &name, &why, None);
        }
        tracing::warn!(%namespace, %name, error = safe_message(&error), "a Secret cannot be read");
        self.put_off(&namespace, &name);
        Vec::new()
    }

    /// A Secret changed, says a watch; which resources that wakes, with what was known forgotten.
    pub fn changed(&self, namespace: &str, name: &str) -> Vec<Key> {
        let address = (namespace.into(), name.into());
        self.lock().remove(&address).into_iter().collect()
    }

    /// The certificate in a Secret that some resource refers to.
    pub fn certificate(&self, namespace: &str, name: &str) -> Option<Box<[u8]>> {
        self.lock().get_mut(&(namespace.into(), name.into()))?.certificate.clone()
    }

    /// The resource is gone.
    pub fn forget(&self, key: &Key) {
        self.set_waiting(key, false);
        self.forget_other_uses(key, |_, _| false);
    }

    /// Notes whether a resource cannot go on before one of its Secrets changes.
    pub fn set_waiting(&self, key: &Key, waits: bool) {
        let mut waiting = self.waiting();
        if waits {
            waiting.insert(key.clone());
        } else {
            waiting.remove(key);
        }
    }

    /// What was read a moment ago; a Secret that was missing is looked for again.
    fn fresh(&self, user: &Key, name: &str) -> Option<Keys> {
        let mut known = self.lock();
        known.get_mut(&(user.namespace.clone(), name.into()))?;
        let known = known.used_by(user, name);
        let is_fresh = known.read.elapsed() < FRESH && known.forbidden.is_none();
        known.hashes.clone().filter(|_| is_fresh)
    }

    fn remember(
        &self,
        namespace: &str,
        name: &str,
        secret: Option<&Secret>,
        user: Option<&Key>,
    ) -> Vec<Key> {
        let hashes = secret.map(|secret| hashes(&self.key, secret));
        let certificate = secret.and_then(|secret| secret.data.as_ref()?.get("tls.crt"));
        let mut known = self.lock();
        let is_first = known.get_mut(&(namespace.into(), name.into())).is_none();
        let Some(entry) = known.entry(namespace, name, user) else { return Vec::new() };
        if is_first {
            entry.hashes.clone_from(&hashes);
        }
        entry.read = Instant::now();
        let was_forbidden = entry.forbidden.take().is_some();
        entry.certificate = certificate.map(|pem| pem.0.clone().into());
        let version = secret.map(|secret| secret.metadata.resource_version.as_deref());
        let own = entry.own.is_some().then(|| match version {
            Some(version) => Own::Version(version.unwrap_or_default().into()),
            None => Own::Missing,
        });
        if entry.hashes == hashes && entry.own == own && !was_forbidden {
            return Vec::new();
        }
        entry.hashes = hashes;
        entry.own = own;
        entry.users.iter().filter(|key| Some(*key) != user).cloned().collect()
    }

    /// A Secret may not be read; which resources that is news to. It is tried again, and what was
    /// known of it is not forgotten.
    fn remember_forbidden(
        &self,
        namespace: &str,
        name: &str,
        why: &str,
        user: Option<&Key>,
    ) -> Vec<Key> {
        let mut known = self.lock();
        let Some(entry) = known.entry(namespace, name, user) else { return Vec::new() };
        entry.read = Instant::now();
        let is_news = entry.forbidden.replace(why.into()).is_none();
        if !is_news {
            return Vec::new();
        }
        tracing::warn!(%namespace, %name, why, "a Secret may not be read");
        entry.users.iter().filter(|key| Some(*key) != user).cloned().collect()
    }

    /// A Secret that could not be read is not due again at once.
    fn put_off(&self, namespace: &str, name: &str) {
        if let Some(known) = self.lock().get_mut(&(namespace.into(), name.into())) {
            known.read = Instant::now();
        }
    }

    fn forget_other_uses(&self, key: &Key, is_used: impl Fn(&str, &KnownSecret) -> bool) {
        self.lock().forget_uses(key, is_used);
    }

    fn waiting(&self) -> MutexGuard<'_, HashSet<Key>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, KnownSecrets> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// So many: those that were read longest ago in each namespace, one namespace after the other.
fn in_turn(mut due: Vec<(Reverse<Duration>, &Address)>, count: usize) -> Vec<&Address> {
    due.sort_unstable();
    let mut of_namespace: HashMap<&str, usize> = HashMap::new();
    let mut in_turn: Vec<(usize, &Address)> = Vec::with_capacity(due.len());
    for (_, address) in due {
        let turn = of_namespace.entry(&address.0).or_default();
        in_turn.push((*turn, address));
        *turn += 1;
    }
    in_turn.sort_by_key(|(turn, _)| *turn);
    in_turn.into_iter().take(count).map(|(_, address)| address).collect()
}

/// Whether a resource may be waiting for another content of this Secret.
fn is_awaited(known: &KnownSecret, waiting: &HashSet<Key>) -> bool {
    known.hashes.is_none()
        || known.forbidden.is_some()
        || (!waiting.is_empty() && known.users.iter().any(|user| waiting.contains(user)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret() -> Secret {
        Secret { data: Some([("key".to_owned(), <_>::default())].into()), ..Secret::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_awaited_is_read_first_and_sooner_then_what_was_read_longest_ago() {
        let refresh = Duration::from_secs(45);
        let secrets = Secrets::new(HashKey::ephemeral(), refresh, Rights::OfCaller);
        let (waits, rests) = (Key::new("ns", "waits"), Key::new("ns", "rests"));
        let read = |user: &Key, name: &str| {
            secrets.remember("ns", name, Some(&secret()), Some(user));
        };
        let due = || -> Vec<String> {
            secrets.next_round().into_iter().map(|(_, name)| name.into()).collect()
        };
        read(&rests, "older");
        tokio::time::advance(Duration::from_secs(1)).await;
        read(&rests, "old");
        tokio::time::advance(refresh).await;
        read(&waits, "awaited");
        secrets.remember("ns", "missing", None, Some(&rests));
        assert_eq!(due(), ["older", "old"]);
        secrets.set_waiting(&waits, true);
        tokio::time::advance(AWAITED).await;
        let mut first = due();
        let last = first.split_off(2);
        first.sort();
        assert_eq!(
            (first, last),
            (vec!["awaited".into(), "missing".into()], vec!["older".into(), "old".into()])
        );
        secrets.set_waiting(&waits, false);
        assert_eq!(due(), ["missing", "older", "old"], "it waits no more");
    }

    #[tokio::test(start_paused = true)]
    async fn thousands_of_missing_secrets_delay_no_change_elsewhere() {
        let refresh = Duration::from_secs(45);
        let secrets = Secrets::new(HashKey::ephemeral(), refresh, Rights::OfCaller);
        let (greedy, other) = (Key::new("greedy", "demo"), Key::new("other", "demo"));
        for number in 0..2 * IN_A_ROUND {
            secrets.remember("greedy", &format!("missing-{number}"), None, Some(&greedy));
            let there = format!("there-{number}");
            secrets.remember("greedy", &there, Some(&secret()), Some(&greedy));
        }
        secrets.remember("other", "rotated", Some(&secret()), Some(&other));
        secrets.remember("other", "missing", None, Some(&other));
        tokio::time::advance(refresh).await;
        let round = secrets.next_round();
        assert_eq!(round.len(), IN_A_ROUND);
        for name in ["rotated", "missing"] {
            assert!(round.contains(&("other".into(), name.into())), "{name}");
        }
    }
}
