//! When the first lists of all watches are in, before which nothing may be decided.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// Counts the watches whose first list is not in yet, and lets them list one after the other: a page
/// of each kind at once would be the most memory that the operator ever takes.
#[derive(Debug)]
pub struct Synced {
    missing: AtomicUsize,
    changed: Notify,
    turn: Arc<Semaphore>,
}

impl Synced {
    pub fn new() -> Arc<Self> {
        let turn = Arc::new(Semaphore::new(1));
        Arc::new(Self { missing: AtomicUsize::new(0), changed: Notify::new(), turn })
    }

    /// One more watch.
    pub fn expect(self: &Arc<Self>) -> Pending {
        self.missing.fetch_add(1, Ordering::SeqCst);
        Pending { synced: Some(Arc::clone(self)), turn: None }
    }

    /// Waits until all first lists are in.
    pub async fn all(&self) {
        loop {
            let changed = self.changed.notified();
            if self.missing.load(Ordering::SeqCst) == 0 {
                return;
            }
            changed.await;
        }
    }
}

/// One watch whose first list is awaited.
#[derive(Debug)]
pub struct Pending {
    synced: Option<Arc<Synced>>,
    turn: Option<OwnedSemaphorePermit>,
}

impl Pending {
    /// Waits for its turn to list.
    pub async fn begin(&mut self) {
        if let Some(synced) = &self.synced {
            self.turn = Arc::clone(&synced.turn).acquire_owned().await.ok();
        }
    }

    /// The list is in.
    pub fn done(&mut self) {
        self.turn = None;
        if let Some(synced) = self.synced.take() {
            synced.missing.fetch_sub(1, Ordering::SeqCst);
            synced.changed.notify_waiters();
        }
    }
}
