//! Reads the Secrets that resources refer to, one request each, and notices when they change: the
//! operator may not list or watch Secrets, so each is asked for again after a while.

pub mod hash_key;
mod known;
mod values;

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use llsd_plan::facts::SecretFacts;
use llsd_plan::plan::references::References;
use llsd_plan::resource::Key;
use tokio::time::Instant;

use crate::operator::controller::secrets::hash_key::HashKey;
use crate::operator::controller::state::{Rights, safe_message};
use known::{Address, Keys, KnownSecret, Own};
use values::{SecretsRead, add_connection, hashes, wanted_keys};

/// How long what was read counts as fresh while a resource is worked on: its own children's events
/// bring it back several times within seconds.
const FRESH: Duration = Duration::from_secs(10);
/// How soon a Secret is read again that is missing, or that a resource cannot go on with.
const AWAITED: Duration = Duration::from_secs(5);

/// What is remembered of the Secrets that resources refer to.
#[derive(Debug)]
pub struct Secrets {
    key: HashKey,
    refresh: Duration,
    rights: Rights,
    known: Mutex<HashMap<Address, KnownSecret>>,
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
        let mut known = self.lock();
        let address = (owner.namespace.clone(), name.into());
        let entry = known.entry(address).or_insert_with(KnownSecret::new);
        entry.users.insert(owner.clone());
        entry.own.get_or_insert(Own::NotRead);
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

    /// Reads every Secret again that was not read for a while; which resources a change wakes.
    pub async fn refresh(&self, client: &Client) -> Vec<Key> {
        let due: Vec<Address> = {
            let waiting = self.waiting();
            let known = self.lock();
            let due = known.iter().filter(|(_, known)| self.is_due(known, &waiting));
            due.map(|(address, _)| address.clone()).collect()
        };
        let mut woken = Vec::new();
        for (namespace, name) in due {
            let secrets: Api<Secret> = Api::namespaced(client.clone(), &namespace);
            match secrets.get_opt(&name).await {
                Ok(found) => {
                    woken.extend(self.remember(&namespace, &name, found.as_ref(), None));
                }
                Err(error) => {
                    if let Some(why) = self.rights.lacking(&error) {
                        woken.extend(self.remember_forbidden(&namespace, &name, &why, None));
                    } else {
                        let error = safe_message(&error);
                        tracing::warn!(%namespace, %name, error, "a Secret cannot be read");
                        self.put_off(&namespace, &name);
                    }
                }
            }
        }
        woken
    }

    /// A Secret changed, says a watch; which resources that wakes, with what was known forgotten.
    pub fn changed(&self, namespace: &str, name: &str) -> Vec<Key> {
        let address = (namespace.into(), name.into());
        let known = self.lock().remove(&address);
        known.map(|known| known.users.into_iter().collect()).unwrap_or_default()
    }

    /// The certificate in a Secret that some resource refers to.
    pub fn certificate(&self, namespace: &str, name: &str) -> Option<Box<[u8]>> {
        self.lock().get(&(namespace.into(), name.into()))?.certificate.clone()
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

    fn is_due(&self, known: &KnownSecret, waiting: &HashSet<Key>) -> bool {
        let awaited = || known.users.iter().any(|user| waiting.contains(user));
        let soon = known.hashes.is_none()
            || known.forbidden.is_some()
            || (!waiting.is_empty() && awaited());
        let wait = if soon { AWAITED.min(self.refresh) } else { self.refresh };
        known.read.elapsed() >= wait
    }

    /// What was read a moment ago; a Secret that was missing is looked for again.
    fn fresh(&self, user: &Key, name: &str) -> Option<Keys> {
        let mut known = self.lock();
        let known = known.get_mut(&(user.namespace.clone(), name.into()))?;
        known.users.insert(user.clone());
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
        let address = (namespace.into(), name.into());
        if user.is_none() && !known.contains_key(&address) {
            // Nobody refers to it any more.
            return Vec::new();
        }
        let entry = known
            .entry(address)
            .or_insert_with(|| KnownSecret { hashes: hashes.clone(), ..KnownSecret::new() });
        entry.read = Instant::now();
        let was_forbidden = entry.forbidden.take().is_some();
        entry.certificate = certificate.map(|pem| pem.0.clone().into());
        entry.users.extend(user.cloned());
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
        let address = (namespace.into(), name.into());
        if user.is_none() && !known.contains_key(&address) {
            return Vec::new();
        }
        let entry = known.entry(address).or_insert_with(KnownSecret::new);
        entry.read = Instant::now();
        entry.users.extend(user.cloned());
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
        self.lock().retain(|(namespace, name), known| {
            if *namespace == key.namespace && !is_used(name, known) {
                known.users.remove(key);
            }
            !known.users.is_empty()
        });
    }

    fn waiting(&self) -> MutexGuard<'_, HashSet<Key>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Address, KnownSecret>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
