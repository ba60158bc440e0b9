//! The operator at work: watches feed a cache and a queue, workers take resources from the queue and
//! reconcile them. Only the leader does this.

mod api;
pub(crate) mod api_error;
mod apply;
mod bundles;
mod cache;
mod collisions;
mod events;
mod gather;
mod key;
mod notes;
mod object;
mod operator;
mod pinned_certificate;
pub mod preview;
mod prune;
mod queue;
mod reconcile;
mod report;
mod scope;
mod secret_key;
mod server;
mod shallow;
mod synced;
mod watches;

use std::collections::BTreeSet;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt, StreamExt, stream};
use kube::Client;
use llsd_registry::credentials::ProviderPlugins;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep_until, timeout};

pub use scope::Scope;

use crate::operator::shutdown::Shutdown;
use crate::operator::telemetry::{Metrics, Reconcile};
use bundles::Bundles;
use cache::Cache;
use events::Events;
use gather::{PullCredentials, Secrets};
use key::Key;
use notes::Notes;
use queue::{Next, Queue};
use secret_key::SecretKey;
use server::Servers;

/// How the operator runs.
#[derive(Clone, Debug)]
pub struct Settings {
    pub scope: Scope,
    pub operator_namespace: String,
    /// The operator's own image, which the Redis sidecar runs.
    pub operator_image: Option<String>,
    pub operator_version: String,
    /// The name of this replica.
    pub instance: String,
    /// Resources that are worked on at the same time.
    pub concurrency: usize,
    /// The longest that one reconcile may take.
    pub time_limit: Duration,
    /// How often a resource at rest is looked at.
    pub resync: Duration,
    /// How often each Secret is read again.
    pub secret_refresh: Duration,
    /// Whether to watch the metadata of Secrets as well, which needs a role of its own.
    pub watch_secrets: bool,
    /// How often each running server is asked how it is.
    pub server_poll: Duration,
    /// Where servers are reached, for an operator outside of the cluster.
    pub server_url: Option<String>,
    /// How long work under way may take to end.
    pub grace: Duration,
}

/// What every part of the controller shares.
pub struct Context {
    client: Client,
    settings: Settings,
    cache: Cache,
    queue: Queue,
    bundles: Bundles,
    secrets: Secrets,
    notes: Notes,
    current: operator::Current,
    pull_credentials: PullCredentials,
    servers: Servers,
    events: Events,
    metrics: Metrics,
    served: BTreeSet<String>,
}

/// Why the operator cannot work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the API server cannot be asked what it serves: {0}")]
    Discovery(#[source] Box<kube::Error>),
    #[error(transparent)]
    SecretKey(#[from] secret_key::Error),
    #[error("no client for the servers: {0}")]
    Servers(#[from] reqwest::Error),
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Context {
    pub async fn new(
        client: Client,
        settings: Settings,
        plugins: Arc<ProviderPlugins>,
        metrics: Metrics,
    ) -> Result<Self, Error> {
        let groups = client.list_api_groups().await;
        let groups = groups.map_err(|error| Error::Discovery(Box::new(error)))?;
        let key = SecretKey::obtain(&client, &settings.operator_namespace).await?;
        let served = groups.groups.into_iter().map(|group| group.name).collect();
        Self::assemble(client, settings, plugins, metrics, key, served)
    }

    fn assemble(
        client: Client,
        settings: Settings,
        plugins: Arc<ProviderPlugins>,
        metrics: Metrics,
        key: SecretKey,
        served: BTreeSet<String>,
    ) -> Result<Self, Error> {
        Ok(Self {
            cache: Cache::default(),
            queue: Queue::default(),
            bundles: Bundles::default(),
            secrets: Secrets::new(key, settings.secret_refresh),
            notes: Notes::default(),
            current: operator::Current::default(),
            pull_credentials: PullCredentials::new(plugins),
            servers: Servers::new(settings.server_url.clone())?,
            events: Events::new(client.clone(), settings.instance.clone()),
            metrics,
            served,
            client,
            settings,
        })
    }

    fn operator(&self) -> Arc<operator::Operator> {
        self.current.get()
    }

    /// The certificate in a Secret of the resource's namespace.
    fn certificate(&self, key: &Key, secret: Option<&str>) -> Option<Box<[u8]>> {
        self.secrets.certificate(&key.namespace, secret?)
    }

    fn served_apis(&self) -> BTreeSet<String> {
        self.served.clone()
    }
}

/// Works until the future is dropped or shutdown is asked for; then what is under way may end.
pub async fn run(context: Arc<Context>, shutdown: Shutdown, ready: impl FnOnce()) {
    let mut background = JoinSet::new();
    let synced = watches::start(&context, &mut background);
    tokio::select! {
        () = synced.all() => {}
        () = shutdown.requested() => return,
    }
    tracing::info!(resources = context.cache.resource_keys().len(), "all watches are in");
    ready();
    background.spawn(refresh_secrets(Arc::clone(&context)));
    background.spawn(poll_servers(Arc::clone(&context)));
    background.spawn(count(Arc::clone(&context)));
    background.spawn(send_events(Arc::clone(&context)));
    let mut workers = JoinSet::new();
    let places = Arc::new(Semaphore::new(context.settings.concurrency));
    loop {
        let place = Arc::clone(&places).acquire_owned();
        let place = tokio::select! {
            place = place => place.expect("it is never closed"),
            () = shutdown.requested() => break,
        };
        let key = tokio::select! {
            key = context.queue.next() => key,
            () = shutdown.requested() => break,
        };
        while workers.try_join_next().is_some() {}
        let context = Arc::clone(&context);
        workers.spawn(async move {
            work(&context, &key).await;
            drop(place);
        });
    }
    let deadline = Instant::now() + context.settings.grace;
    let finishing = async {
        while workers.join_next().await.is_some() {}
        context.events.send_waiting().await;
    };
    tokio::select! {
        () = finishing => {}
        () = sleep_until(deadline) => {
            tracing::warn!(unfinished = workers.len(), "work under way did not end in time");
        }
    }
}

/// One reconcile, which neither hangs nor takes the operator down.
async fn work(context: &Context, key: &Key) {
    let begun = Instant::now();
    let _in_flight = context.metrics.in_flight();
    let reconciling = AssertUnwindSafe(reconcile::reconcile(context, key)).catch_unwind();
    let (result, next) = match timeout(context.settings.time_limit, reconciling).await {
        Ok(Ok(done)) => done,
        Ok(Err(_)) => {
            tracing::error!(resource = %key, "a bug in the operator: the reconcile panicked");
            (Reconcile::Bug, Next::Retry)
        }
        Err(_) => {
            tracing::warn!(resource = %key, "the reconcile took too long");
            (Reconcile::Unavailable, Next::Retry)
        }
    };
    context.queue.done(key, next);
    context.metrics.reconciled(result, begun.elapsed().as_secs_f64());
}

/// Secrets cannot be watched, so they are read again.
async fn refresh_secrets(context: Arc<Context>) {
    let mut tick = interval(Duration::from_secs(1));
    loop {
        tick.tick().await;
        let woken = context.secrets.refresh(&context.client).await;
        for key in &woken {
            context.queue.add(key);
        }
    }
}

/// A server's health and providers can change without the cluster noticing.
async fn poll_servers(context: Arc<Context>) {
    const AT_ONCE: usize = 8;
    let mut tick = interval(context.settings.server_poll);
    tick.tick().await;
    loop {
        tick.tick().await;
        let servers = stream::iter(context.notes.servers());
        let asked = servers.for_each_concurrent(AT_ONCE, async |(key, before)| {
            let certificate = context.certificate(&key, before.certificate.as_deref());
            let said = context.servers.ask(&key, &before.url, certificate.as_deref()).await;
            if notes::said(&said) != before.said {
                context.queue.add(&key);
            }
        });
        asked.await;
    }
}

async fn send_events(context: Arc<Context>) {
    context.events.keep_sending(|| context.queue.is_busy()).await;
}

/// Figures that are counted and not summed up.
async fn count(context: Arc<Context>) {
    let mut tick = interval(Duration::from_secs(5));
    loop {
        tick.tick().await;
        context.metrics.queue_length(context.queue.waiting());
        context.metrics.resources(context.cache.phases());
    }
}
