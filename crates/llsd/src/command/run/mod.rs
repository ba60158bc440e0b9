//! `llsd run`: the operator. Health and metrics are served at once, webhooks before anything is
//! watched, work begins with leadership, and a signal ends it within a deadline.

mod arguments;
mod failure;
mod webhook_flags;
mod webhooks;

use std::convert::Infallible;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use llsd_registry::credentials::ProviderPlugins;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{Exit, Printout};
use crate::operator::api_clock::{ApiClock, ApiServer};
use crate::operator::controller::{self, Context, Settings};
use crate::operator::health::{Alive, Health, Listeners, Readers, Ready};
use crate::operator::leadership::{self, Leadership};
use crate::operator::shutdown::Shutdown;
use crate::operator::storage_migration;
use crate::operator::telemetry::traces::Exporter;
use crate::operator::telemetry::{self, Metrics, logs};

pub(super) use arguments::Arguments;
use arguments::GRACE;
use failure::StartFailure;

/// How soon a term that could not begin is tried again.
const RETRY: Duration = Duration::from_secs(2);
/// A runtime that did nothing for so long will not do anything again.
const STUCK: Duration = Duration::from_secs(30);
/// How long calls of webhooks that are under way may take to end, when the work has ended.
const LAST_CALLS: Duration = Duration::from_secs(8);

pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let webhooks = match arguments.webhooks() {
        Ok(webhooks) => webhooks,
        Err(error) => return Printout::usage(&error.to_string()).deliver(),
    };
    let (traces, exporter) = match arguments.traces() {
        Ok(traces) => traces.unzip(),
        Err(error) => return Printout::usage(&error.to_string()).deliver(),
    };
    if let Err(error) = logs::init(arguments.log_format, &arguments.log_level, traces) {
        return Printout::usage(&error.to_string()).deliver();
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let ended = runtime.map_err(StartFailure::from).and_then(|runtime| {
        let ended = runtime.block_on(operate(arguments, webhooks, exporter));
        // What still hangs must not keep the process.
        runtime.shutdown_timeout(Duration::from_secs(1));
        ended
    });
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            tracing::error!("{failure}");
            ExitCode::from(Exit::Unavailable as u8)
        }
    }
}

async fn operate(
    arguments: &Arguments,
    webhooks: Option<webhook_flags::Plan>,
    exporter: Option<Exporter>,
) -> Result<(), StartFailure> {
    let (_trigger, shutdown) = Shutdown::on_signals(GRACE)?;
    let metrics = Metrics::new(env!("CARGO_PKG_VERSION"));
    let mut background = JoinSet::new();
    if let Some(exporter) = exporter {
        background.spawn(exporter.run());
    }
    let ready = Ready::default();
    let readers = serve(arguments, &metrics, &ready, &shutdown, &mut background).await?;
    let config = arguments.kubeconfig.config().await;
    let (config, _) = config.map_err(StartFailure::NoConfig)?;
    let namespace = arguments.operator_namespace(&config);
    let clock = ApiClock::default();
    let connect = || {
        telemetry::client(config.clone(), &metrics, &clock)
            .map_err(|error| StartFailure::NoCluster(Box::new(error)))
    };
    let client = connect()?;
    readers.ask(client.clone());
    let settings = arguments.settings(&namespace);
    let worker = Worker {
        api: ApiServer { client, clock: clock.clone() },
        settings,
        plugins: Arc::new(arguments.plugins()?),
        metrics: metrics.clone(),
        ready,
        shutdown,
        migrates_storage: arguments.migrate_storage,
    };
    let Settings { operator_version: version, scope, .. } = &worker.settings;
    tracing::info!(version, namespace, ?scope, "starting");
    let mut calls = JoinSet::new();
    let mut certificates = None;
    if let Some(plan) = webhooks {
        certificates = webhooks::start(plan, worker.site(&namespace), &mut calls).await?;
    }
    // The lease is given back when the work has ended, not when it was asked to end.
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let standing = arguments.leader_elect.then(|| {
        let election = leadership::ElectionSettings::new(&namespace);
        leadership::stand(connect, election, async { drop(ended.await) })
    });
    let (mut leadership, campaign) = standing.transpose()?.unzip();
    if let Some(certificates) = certificates {
        certificates.keep(leadership.as_ref(), &mut background);
    }
    worker.ready.set();
    worker.work(leadership.as_mut()).await;
    drop(end);
    if let Some(campaign) = campaign {
        let _ = timeout(Duration::from_secs(3), campaign).await;
    }
    let last_calls = async { while calls.join_next().await.is_some() {} };
    let _ = timeout(LAST_CALLS, last_calls).await;
    Ok(())
}

/// Health and metrics, from the first moment. Who reads metrics can be asked for only once there is a client.
async fn serve(
    arguments: &Arguments,
    metrics: &Metrics,
    ready: &Ready,
    shutdown: &Shutdown,
    background: &mut JoinSet<()>,
) -> Result<Readers, StartFailure> {
    let probes = &arguments.health_probe_bind_address;
    let listeners = Listeners::bind(probes, &arguments.metrics.metrics_bind_address).await?;
    tracing::info!(probes = ?listeners.probes(), metrics = ?listeners.metrics(), "serving");
    let alive = Alive::new(STUCK);
    let readers = Readers::default();
    let asks = arguments.metrics.metrics_authentication;
    let health = Health {
        alive: alive.clone(),
        ready: ready.clone(),
        shutdown: shutdown.clone(),
        metrics: metrics.clone(),
        readers: asks.then(|| readers.clone()),
    };
    background.spawn(async move { alive.keep_beating().await });
    background.spawn(async move {
        if let Err(error) = listeners.serve(health).await {
            tracing::error!(%error, "health and metrics are no longer served");
        }
    });
    Ok(readers)
}

/// The part of the operator that only the leader does.
struct Worker {
    api: ApiServer,
    settings: Settings,
    plugins: Arc<ProviderPlugins>,
    metrics: Metrics,
    ready: Ready,
    shutdown: Shutdown,
    migrates_storage: bool,
}

impl Worker {
    /// What the webhooks need of it.
    fn site(&self, namespace: &str) -> webhooks::Site {
        webhooks::Site {
            client: self.api.client.clone(),
            namespace: namespace.to_owned(),
            metrics: self.metrics.clone(),
            shutdown: self.shutdown.clone(),
        }
    }

    /// Works in every term of leadership until the shutdown.
    async fn work(&self, mut leadership: Option<&mut Leadership>) {
        while !self.shutdown.is_requested() {
            tokio::select! {
                () = acquired(leadership.as_deref_mut()) => {}
                () = self.shutdown.requested() => break,
            }
            self.metrics.leading(true);
            let mut watching = leadership.as_deref().cloned();
            tokio::select! {
                () = self.term() => {}
                never = self.migrate_storage() => match never {},
                () = lost(watching.as_mut()) => {
                    tracing::warn!("leadership is lost; another replica works on");
                }
            }
            self.metrics.leading(false);
            self.ready.set_blind(None);
        }
    }

    /// One term of leadership: everything is read again, as another replica may have worked meanwhile.
    async fn term(&self) {
        let (api, settings) = (self.api.clone(), self.settings.clone());
        let (plugins, metrics) = (Arc::clone(&self.plugins), self.metrics.clone());
        match Context::new(api, settings, plugins, metrics, self.ready.clone()).await {
            Ok(context) => controller::run(Arc::new(context), self.shutdown.clone()).await,
            Err(error) => tracing::error!("{error}; trying again"),
        }
        // The next term does not begin at once, should this one end in the same way.
        tokio::select! {
            () = tokio::time::sleep(RETRY) => {}
            () = self.shutdown.requested() => {}
        }
    }

    /// Migrates what is stored, beside everything else.
    async fn migrate_storage(&self) -> Infallible {
        if self.migrates_storage {
            storage_migration::migrate_until_done(&self.api.client).await;
        }
        std::future::pending().await
    }
}

async fn acquired(leadership: Option<&mut Leadership>) {
    if let Some(leadership) = leadership {
        tracing::info!("waiting for leadership");
        leadership.acquired().await;
        tracing::info!("leading");
    }
}

async fn lost(leadership: Option<&mut Leadership>) {
    match leadership {
        Some(leadership) => leadership.lost().await,
        None => std::future::pending().await,
    }
}
