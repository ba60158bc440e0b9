//! What is remembered of a resource between reconciles and costs nothing to lose: since when its pods
//! are not ready, how often its server could not be reached, what it said last, what was written and
//! not told yet.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use llsd_plan::status::Server;
use tokio::time::Instant;

use super::key::Key;

/// Notes on all resources.
#[derive(Debug, Default)]
pub struct Notes(Mutex<HashMap<Key, Note>>);

#[derive(Debug, Default)]
struct Note {
    unready_since: Option<Instant>,
    unreachable: u32,
    server: Option<Asked>,
    storage_secret: Option<bool>,
    untold: Vec<String>,
}

/// How a server is asked, and what it said, as a hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub url: Box<str>,
    /// The Secret with the certificate that it serves.
    pub certificate: Option<Box<str>>,
    pub said: u64,
}

impl Notes {
    /// How long the pods have not been ready; zero at the first look.
    pub fn unready_for(&self, key: &Key, ready: bool) -> Duration {
        let mut notes = self.lock();
        let note = notes.entry(key.clone()).or_default();
        if ready {
            note.unready_since = None;
            return Duration::ZERO;
        }
        note.unready_since.get_or_insert_with(Instant::now).elapsed()
    }

    /// Notes what a server said; how often in a row it could not be reached.
    pub fn asked(&self, key: &Key, url: &str, certificate: Option<&str>, server: &Server) -> u32 {
        let mut notes = self.lock();
        let note = notes.entry(key.clone()).or_default();
        note.unreachable = match server {
            Server::Unreachable(_) => note.unreachable.saturating_add(1),
            _ => 0,
        };
        note.server = Some(Asked {
            url: url.into(),
            certificate: certificate.map(Into::into),
            said: said(server),
        });
        note.unreachable
    }

    /// There is no server to ask.
    pub fn not_asked(&self, key: &Key) {
        if let Some(note) = self.lock().get_mut(key) {
            note.server = None;
            note.unreachable = 0;
        }
    }

    /// All servers that can be asked.
    pub fn servers(&self) -> Vec<(Key, Asked)> {
        let notes = self.lock();
        notes.iter().filter_map(|(key, note)| Some((key.clone(), note.server.clone()?))).collect()
    }

    /// Whether the Secret of a database exists, as far as that is known.
    pub fn storage_secret(&self, key: &Key) -> Option<bool> {
        self.lock().get(key).and_then(|note| note.storage_secret)
    }

    pub fn set_storage_secret(&self, key: &Key, exists: bool) {
        self.lock().entry(key.clone()).or_default().storage_secret = Some(exists);
    }

    /// Notes which objects were written without a word in the status.
    pub fn set_untold(&self, key: &Key, written: Vec<String>) {
        self.lock().entry(key.clone()).or_default().untold = written;
    }

    /// What was noted, which is then told.
    pub fn take_untold(&self, key: &Key) -> Vec<String> {
        self.lock().get_mut(key).map(|note| std::mem::take(&mut note.untold)).unwrap_or_default()
    }

    pub fn forget(&self, key: &Key) {
        self.lock().remove(key);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Note>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A hash of what a server said, by which a change is noticed.
pub fn said(server: &Server) -> u64 {
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
