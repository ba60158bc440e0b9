//! What is remembered of a resource between reconciles and costs nothing to lose: since when its pods
//! are not ready, how often its server could not be reached, what it answered last, what was written
//! and is not in the status yet.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use llsd_plan::resource::{Key, Resource};
use llsd_plan::status::{Applied, Server};
use tokio::time::Instant;

/// What is remembered of all resources.
#[derive(Debug, Default)]
pub struct Memory(Mutex<HashMap<Key, Remembered>>);

#[derive(Debug, Default)]
struct Remembered {
    unready_since: Option<Instant>,
    unreachable: u32,
    server: Option<AskedServer>,
    storage_secret: Option<bool>,
    unreported: Vec<String>,
}

/// How a server is asked, and what it answered, as a hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedServer {
    pub url: Box<str>,
    /// The Secret with the certificate that it serves.
    pub certificate: Option<Box<str>>,
    pub answer: u64,
}

impl Memory {
    /// How long the pods have not been ready; zero at the first look.
    pub fn unready_for(&self, key: &Key, ready: bool) -> Duration {
        let mut all = self.lock();
        let known = all.entry(key.clone()).or_default();
        if ready {
            known.unready_since = None;
            return Duration::ZERO;
        }
        known.unready_since.get_or_insert_with(Instant::now).elapsed()
    }

    /// Remembers what a server answered; how often in a row it could not be reached.
    pub fn asked(&self, key: &Key, url: &str, certificate: Option<&str>, server: &Server) -> u32 {
        let mut all = self.lock();
        let known = all.entry(key.clone()).or_default();
        known.unreachable = match server {
            Server::Unreachable(_) => known.unreachable.saturating_add(1),
            _ => 0,
        };
        known.server = Some(AskedServer {
            url: url.into(),
            certificate: certificate.map(Into::into),
            answer: answer_hash(server),
        });
        known.unreachable
    }

    /// There is no server to ask.
    pub fn not_asked(&self, key: &Key) {
        if let Some(known) = self.lock().get_mut(key) {
            known.server = None;
            known.unreachable = 0;
        }
    }

    /// All servers that can be asked.
    pub fn servers(&self) -> Vec<(Key, AskedServer)> {
        let all = self.lock();
        all.iter().filter_map(|(key, known)| Some((key.clone(), known.server.clone()?))).collect()
    }

    /// Whether the Secret of a database exists, as far as that is known.
    pub fn storage_secret(&self, key: &Key) -> Option<bool> {
        self.lock().get(key).and_then(|known| known.storage_secret)
    }

    pub fn set_storage_secret(&self, key: &Key, exists: bool) {
        self.lock().entry(key.clone()).or_default().storage_secret = Some(exists);
    }

    /// Whether the status can wait, and then remembers what was written. Of a new resource whose objects
    /// are made now there is nothing to report yet but that; while others wait for their servers, that
    /// has time until its next turn, which comes after theirs.
    pub fn defers_report(&self, resource: &Resource, applied: &mut Applied, busy: bool) -> bool {
        let defers = resource.status.is_null() && !applied.written.is_empty() && busy;
        if defers {
            let written = std::mem::take(&mut applied.written);
            self.lock().entry(resource.key.clone()).or_default().unreported = written;
        }
        defers
    }

    /// What was written and is not in the status yet.
    pub fn take_unreported(&self, key: &Key) -> Vec<String> {
        let mut all = self.lock();
        all.get_mut(key).map(|known| std::mem::take(&mut known.unreported)).unwrap_or_default()
    }

    pub fn forget(&self, key: &Key) {
        self.lock().remove(key);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Remembered>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A hash of what a server answered, by which a change is noticed.
pub fn answer_hash(server: &Server) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    match server {
        Server::NotAsked => 0_u8.hash(&mut hasher),
        Server::Unreachable(_) => 1_u8.hash(&mut hasher),
        Server::Answered(answers) => {
            answers.health.hash(&mut hasher);
            answers.version.hash(&mut hasher);
            for provider in answers.providers.iter().flatten() {
                provider.hash(&mut hasher);
            }
        }
    }
    hasher.finish()
}
