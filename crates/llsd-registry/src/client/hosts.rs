//! What is known about each registry host: how it wants to be authenticated to, that it is dead,
//! and how many requests are under way to it.

use std::{
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use moka::future::Cache;
use reqwest::Method;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    Error, Limits,
    challenge::{self, Challenge},
    transport::{Ask, Transport},
};

/// Hosts come from tenants: their number is bounded.
const HOSTS: u64 = 1_000;
/// A registry may ask for patience, but not for ever.
const MAX_BUSY: Duration = Duration::from_mins(5);

#[derive(Debug)]
pub(super) struct Hosts {
    alive: Cache<String, Option<Challenge>>,
    dead: Cache<String, (Error, Instant)>,
    turns: Cache<String, Arc<Semaphore>>,
    per_host: usize,
    limits: Limits,
}

impl Hosts {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            alive: Cache::builder().max_capacity(HOSTS).time_to_live(limits.host_memory).build(),
            dead: Cache::builder().max_capacity(HOSTS).build(),
            turns: Cache::builder().max_capacity(HOSTS).build(),
            per_host: limits.per_host,
            limits: limits.clone(),
        }
    }

    /// A place among the requests to this host, so that a thousand resources do not flood it.
    pub(super) async fn turn(&self, host: &str) -> Option<OwnedSemaphorePermit> {
        let places = Semaphore::new(self.per_host);
        let places = self.turns.get_with_by_ref(host, async { Arc::new(places) }).await;
        // Never closed, so always there.
        places.acquire_owned().await.ok()
    }

    /// How the registry wants to be authenticated to, from a ping that all askers share.
    pub(super) async fn challenge(
        &self,
        transport: &Transport,
        host: &str,
    ) -> Result<Option<Challenge>, Error> {
        if let Some((error, until)) = self.dead.get(host).await {
            if until > Instant::now() {
                return Err(error);
            }
            self.dead.invalidate(host).await;
        }
        let ping = Box::pin(async {
            let url = transport.url(host, "/v2/")?;
            let response = self.watched(host, transport.send(Ask::new(Method::GET, url))).await?;
            // Some registries name a scope here too, but a ping is about no repository.
            Ok(challenge::strongest(response.headers()).map(Challenge::without_scope))
        });
        let answer = self.alive.try_get_with_by_ref(host, ping).await;
        answer.map_err(|error: Arc<Error>| (*error).clone())
    }

    /// Remembers a failure that says something about the host and not about the asker.
    pub(super) async fn watched<T>(
        &self,
        host: &str,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let answer = request.await;
        let memory = match &answer {
            Err(
                error @ (Error::Unreachable { host: at, .. } | Error::TimedOut { host: at, .. }),
            ) if at == host => Some(self.limits.memory_of(error)),
            Err(Error::Busy { host: at, retry_after, .. }) if at == host => {
                Some(retry_after.unwrap_or_default().min(MAX_BUSY).max(self.limits.failure_memory))
            }
            _ => None,
        };
        if let (Err(error), Some(memory)) = (&answer, memory) {
            self.dead.insert(host.to_owned(), (error.clone(), Instant::now() + memory)).await;
            self.alive.invalidate(host).await;
        }
        answer
    }
}
