//! Reads the Secrets that resources refer to, one request each, and notices when they change: the
//! operator may not list or watch Secrets, so each is asked for again after a while.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use llsd_plan::coercion::coerced;
use llsd_plan::connection::Connection;
use llsd_plan::facts::{SecretFacts, SecretKeyFacts};
use llsd_plan::objects::names;
use llsd_plan::references::References;
use llsd_plan::resource::Key;
use tokio::time::Instant;

use super::api_error::safe_message;
use super::secret_key::SecretKey;

/// How long what was read counts as fresh while a resource is worked on: its own children's events
/// bring it back several times within seconds.
const FRESH: Duration = Duration::from_secs(10);
/// How soon a Secret is read again that is missing, or that a resource cannot go on with.
const AWAITED: Duration = Duration::from_secs(5);

/// Namespace and name of a Secret.
type Address = (Arc<str>, Box<str>);
/// What may be known of a Secret's values, by key.
type Keys = BTreeMap<String, SecretKeyFacts>;

/// What is remembered of the Secrets that resources refer to.
#[derive(Debug)]
pub struct Secrets {
    key: SecretKey,
    refresh: Duration,
    known: Mutex<HashMap<Address, Known>>,
    /// Resources that cannot go on before one of their Secrets changes.
    waiting: Mutex<HashSet<Key>>,
}

/// What a resource's Secrets hold now.
#[derive(Debug, Default)]
pub struct SecretsRead {
    pub facts: BTreeMap<String, SecretFacts>,
    /// Other resources whose Secrets turned out to have changed.
    pub woken: Vec<Key>,
}

#[derive(Debug)]
struct Known {
    read: Instant,
    users: HashSet<Key>,
    /// Hashes of the values by key; `None` while the Secret is missing.
    hashes: Option<Keys>,
    /// The certificate in it, which is no secret: the server shows it to everybody.
    certificate: Option<Box<[u8]>>,
    /// Of a Secret that the operator itself writes, where any change is put right.
    own: Option<Own>,
}

/// A Secret of the operator's own making, as it was when it was read.
#[derive(Debug, PartialEq, Eq)]
enum Own {
    NotRead,
    Missing,
    Version(Box<str>),
}

impl Secrets {
    pub fn new(key: SecretKey, refresh: Duration) -> Self {
        Self { key, refresh, known: Mutex::default(), waiting: Mutex::default() }
    }

    /// The key under which values are hashed.
    pub fn key(&self) -> &SecretKey {
        &self.key
    }

    /// The facts about every Secret that a resource refers to.
    pub async fn facts(
        &self,
        client: &Client,
        key: &Key,
        references: &References,
    ) -> Result<SecretsRead, kube::Error> {
        let names: HashSet<&str> =
            references.secrets.iter().map(|(name, _)| name.as_str()).collect();
        let own = names::storage_secret(&key.name);
        let own = references.connection_string.as_ref().map(|_| own.as_str());
        self.forget_other_uses(key, &names.iter().copied().chain(own).collect());
        if let Some(own) = own {
            self.keep_reading(key, own);
        }
        let mut all = SecretsRead::default();
        for name in names {
            // A connection string is not kept, so it is read each time.
            let connection = references.connection_string.as_ref();
            let connection = connection.filter(|(secret, _)| secret == name).map(|(_, key)| key);
            let known = self.fresh(key, name).filter(|_| connection.is_none());
            let found = match known {
                Some(known) => Some(known),
                None => self.read(client, key, name, connection, &mut all.woken).await?,
            };
            let wanted = references.secrets.iter().filter(|(secret, _)| secret == name);
            let wanted: Vec<&String> = wanted.map(|(_, key)| key).collect();
            all.facts.insert(name.to_owned(), wanted_keys(found, &wanted));
        }
        Ok(all)
    }

    /// Reads a Secret of the operator's own making from time to time as well.
    fn keep_reading(&self, owner: &Key, name: &str) {
        let mut known = self.lock();
        let entry = known.entry((owner.namespace.clone(), name.into())).or_insert_with(|| Known {
            read: Instant::now(),
            users: HashSet::new(),
            hashes: None,
            certificate: None,
            own: None,
        });
        entry.users.insert(owner.clone());
        entry.own.get_or_insert(Own::NotRead);
    }

    async fn read(
        &self,
        client: &Client,
        user: &Key,
        name: &str,
        connection: Option<&String>,
        woken: &mut Vec<Key>,
    ) -> Result<Option<Keys>, kube::Error> {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), &user.namespace);
        let found = secrets.get_opt(name).await?;
        let hashes = found.as_ref().map(|secret| self.hashes(secret));
        woken.extend(self.remember(&user.namespace, name, found.as_ref(), Some(user)));
        let Some(mut hashes) = hashes else { return Ok(None) };
        if let Some(field) = connection
            && let Some(facts) = hashes.get_mut(field)
            && let Some(value) = found.as_ref().and_then(|secret| secret.data.as_ref()?.get(field))
        {
            facts.connection = Some(match std::str::from_utf8(&value.0) {
                Ok(text) => Connection::parse(text),
                Err(_) => Err("is not text"),
            });
        }
        Ok(Some(hashes))
    }

    fn hashes(&self, secret: &Secret) -> Keys {
        let data = secret.data.iter().flatten();
        data.map(|(key, value)| {
            let text = std::str::from_utf8(&value.0).ok();
            let facts = SecretKeyFacts {
                hash: self.key.hash(&value.0),
                empty: value.0.is_empty(),
                coerced: text.is_some_and(coerced),
                connection: None,
            };
            (key.clone(), facts)
        })
        .collect()
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
                    let error = safe_message(&error);
                    tracing::warn!(%namespace, %name, error, "a Secret cannot be read");
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
        self.forget_other_uses(key, &HashSet::new());
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

    fn is_due(&self, known: &Known, waiting: &HashSet<Key>) -> bool {
        let awaited = || known.users.iter().any(|user| waiting.contains(user));
        let soon = known.hashes.is_none() || (!waiting.is_empty() && awaited());
        let wait = if soon { AWAITED.min(self.refresh) } else { self.refresh };
        known.read.elapsed() >= wait
    }

    /// What was read a moment ago; a Secret that was missing is looked for again.
    fn fresh(&self, user: &Key, name: &str) -> Option<Keys> {
        let mut known = self.lock();
        let known = known.get_mut(&(user.namespace.clone(), name.into()))?;
        known.users.insert(user.clone());
        known.hashes.clone().filter(|_| known.read.elapsed() < FRESH)
    }

    fn remember(
        &self,
        namespace: &str,
        name: &str,
        secret: Option<&Secret>,
        user: Option<&Key>,
    ) -> Vec<Key> {
        let hashes = secret.map(|secret| self.hashes(secret));
        let certificate = secret.and_then(|secret| secret.data.as_ref()?.get("tls.crt"));
        let mut known = self.lock();
        let address = (namespace.into(), name.into());
        if user.is_none() && !known.contains_key(&address) {
            // Nobody refers to it any more.
            return Vec::new();
        }
        let entry = known.entry(address).or_insert_with(|| Known {
            read: Instant::now(),
            users: HashSet::new(),
            hashes: hashes.clone(),
            certificate: None,
            own: None,
        });
        entry.read = Instant::now();
        entry.certificate = certificate.map(|pem| pem.0.clone().into());
        entry.users.extend(user.cloned());
        let version = secret.map(|secret| secret.metadata.resource_version.as_deref());
        let own = entry.own.is_some().then(|| match version {
            Some(version) => Own::Version(version.unwrap_or_default().into()),
            None => Own::Missing,
        });
        if entry.hashes == hashes && entry.own == own {
            return Vec::new();
        }
        entry.hashes = hashes;
        entry.own = own;
        entry.users.iter().filter(|key| Some(*key) != user).cloned().collect()
    }

    fn forget_other_uses(&self, key: &Key, used: &HashSet<&str>) {
        self.lock().retain(|(namespace, name), known| {
            if *namespace == key.namespace && !used.contains(&**name) {
                known.users.remove(key);
            }
            !known.users.is_empty()
        });
    }

    fn waiting(&self) -> MutexGuard<'_, HashSet<Key>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Address, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wanted_keys(found: Option<Keys>, wanted: &[&String]) -> SecretFacts {
    match found {
        None => SecretFacts { missing: true, ..SecretFacts::default() },
        Some(mut keys) => {
            keys.retain(|key, _| wanted.contains(&key));
            SecretFacts { missing: false, keys }
        }
    }
}
