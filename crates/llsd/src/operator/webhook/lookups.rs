//! What a known caller gets beyond an answer from what it sent: a look at the cluster, of which few go on
//! at the same time.

use std::sync::Arc;

use kube::Client;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::callers::{Caller, Callers};
use crate::operator::telemetry::Look;

/// A look is of at most twenty small reads; a burst of writes goes without.
const AT_ONCE: usize = 4;

/// Looks at the cluster. Clones share the bound.
#[derive(Clone)]
pub struct ClusterLookups {
    pub(super) client: Client,
    pub(super) callers: Arc<Callers>,
    at_once: Arc<Semaphore>,
}

impl ClusterLookups {
    pub fn new(client: Client, callers: Arc<Callers>) -> Self {
        Self { client, callers, at_once: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// Room for one more, for a caller that is known; why there is none, otherwise. A write does not
    /// wait for it.
    pub(super) fn room(&self, caller: Caller) -> Result<SemaphorePermit<'_>, Look> {
        match caller {
            Caller::Known => self.at_once.try_acquire().map_err(|_| Look::Busy),
            Caller::Unknown => Err(Look::UnknownCaller),
        }
    }
}
