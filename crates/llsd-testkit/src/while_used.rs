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
    lingers: Duration,
}

/// Keeps what it leads to running.
#[derive(Debug)]
pub struct InUse<T: Send + Sync + 'static> {
    shared: Arc<T>,
    lingers: Duration,
}

impl<T: Send + Sync + 'static> WhileUsed<T> {
    pub const fn new() -> Self {
        Self::lingering(LINGERS)
    }

    const fn lingering(lingers: Duration) -> Self {
        Self { running: Mutex::const_new(Weak::new()), lingers }
    }

    /// What runs, or what `start` gives; `None` where it gives nothing.
    pub async fn get(&self, start: impl AsyncFnOnce() -> Option<T>) -> Option<InUse<T>> {
        let mut running = self.running.lock().await;
        let shared = match running.upgrade() {
            Some(shared) => shared,
            None => Arc::new(start().await?),
        };
        *running = Arc::downgrade(&shared);
        Some(InUse { shared, lingers: self.lingers })
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
        &self.shared
    }
}

impl<T: Send + Sync + 'static> Drop for InUse<T> {
    fn drop(&mut self) {
        let (shared, lingers) = (Arc::clone(&self.shared), self.lingers);
        thread::spawn(move || {
            thread::sleep(lingers);
            drop(shared);
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    static ENDED: AtomicUsize = AtomicUsize::new(0);

    #[derive(Debug)]
    struct Counted;

    impl Drop for Counted {
        fn drop(&mut self) {
            ENDED.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[tokio::test]
    async fn all_that_use_it_at_once_or_shortly_after_have_the_same_and_then_it_ends() {
        let shared = WhileUsed::lingering(Duration::from_secs(3));
        assert!(shared.get(async || None).await.is_none(), "it could not be started");
        let first = shared.get(async || Some(Counted)).await.unwrap();
        let second = shared.get(async || panic!("it runs")).await.unwrap();
        drop((first, second));
        let third = shared.get(async || panic!("it lingers")).await.unwrap();
        assert_eq!(ENDED.load(Ordering::SeqCst), 0);
        drop(third);
        while ENDED.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(shared.get(async || Some(Counted)).await.is_some(), "it starts again");
    }
}
