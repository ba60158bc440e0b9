//! Places for work that waits for somebody's network, bounded in all and for each namespace: servers or
//! registries of one tenant that do not answer leave places for those of everybody else.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The places.
#[derive(Debug)]
pub struct Turns {
    all: Arc<Semaphore>,
    /// How many of them one namespace may take.
    each: usize,
    namespaces: Mutex<HashMap<Arc<str>, Weak<Semaphore>>>,
}

/// A place, until it is dropped.
#[derive(Debug)]
pub struct Turn {
    _own: Option<OwnedSemaphorePermit>,
    _shared: Option<OwnedSemaphorePermit>,
}

impl Turns {
    pub fn new(all: usize, each: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(all)), each, namespaces: Mutex::default() }
    }

    /// Waits for a place. Whoever waits for one of its namespace keeps none from others.
    pub async fn turn(&self, namespace: &Arc<str>) -> Turn {
        let own = self.in_namespace(namespace).acquire_owned().await;
        let shared = Arc::clone(&self.all).acquire_owned().await;
        // Never closed, so always there.
        Turn { _own: own.ok(), _shared: shared.ok() }
    }

    fn in_namespace(&self, namespace: &Arc<str>) -> Arc<Semaphore> {
        let mut namespaces = self.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = namespaces.get(namespace).and_then(Weak::upgrade) {
            return own;
        }
        namespaces.retain(|_, own| own.strong_count() > 0);
        let own = Arc::new(Semaphore::new(self.each));
        namespaces.insert(Arc::clone(namespace), Arc::downgrade(&own));
        own
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn one_namespace_leaves_places_for_others() {
        let turns = Turns::new(3, 2);
        let (busy, other): (Arc<str>, Arc<str>) = ("busy".into(), "other".into());
        let first = turns.turn(&busy).await;
        let second = turns.turn(&busy).await;
        let mut third = Box::pin(turns.turn(&busy));
        assert!((&mut third).now_or_never().is_none());
        let others = turns.turn(&other).now_or_never().expect("a place is left");
        drop(first);
        let third = third.now_or_never().expect("its own was given back");
        drop((second, third, others));
        assert!(turns.turn(&other).now_or_never().is_some());
        assert_eq!(turns.namespaces.lock().unwrap().len(), 1, "a namespace at rest costs nothing");
    }
}
