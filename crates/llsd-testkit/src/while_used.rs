//! What several tests share, for as long as one of them uses it. A control plane whose operator looks
//! at everything every other second would otherwise take time from all tests that follow.

use std::{
    ops::Deref,
    sync::{Arc, Weak},
    thread,
    time::Duration,
};

use tokio::sync::Mutex;

/// How long it waits for one more test. The tests of a file follow each other at once.
const LINGERS: Duration = Duration::from_secs(10);

/// Started by the first test that asks for it, ended when none has used it for some time, and
/// started again for one that comes later.
#[derive(Debug)]
pub struct WhileUsed<T> {
    running: Mutex<Weak<T>>,
}

/// Keeps what it leads to running.
#[derive(Debug)]
pub struct InUse<T: Send + Sync + 'static>(Arc<T>);

impl<T: Send + Sync + 'static> WhileUsed<T> {
    pub const fn new() -> Self {
        Self { running: Mutex::const_new(Weak::new()) }
    }

    /// What runs, or what `start` gives; `None` where it gives nothing.
    pub async fn get(&self, start: impl AsyncFnOnce() -> Option<T>) -> Option<InUse<T>> {
        let mut running = self.running.lock().await;
        if let Some(shared) = running.upgrade() {
            return Some(InUse(shared));
        }
        let started = Arc::new(start().await?);
        *running = Arc::downgrade(&started);
        Some(InUse(started))
    }
}

impl<T: Send + Sync + 'static> Default for WhileUsed<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send + Sync + 'static> Deref for InUse<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Send + Sync + 'static> Drop for InUse<T> {
    fn drop(&mut self) {
        let shared = Arc::clone(&self.0);
        thread::spawn(move || {
            thread::sleep(LINGERS);
            drop(shared);
        });
    }
}
