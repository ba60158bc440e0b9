//! `llsd run`: the operator. Health and metrics are served at once, work begins with leadership, and
//! a signal ends it within a deadline.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{ArgAction, Args, ValueEnum};
use kube::Config;
use llsd_registry::credentials::ProviderPlugins;
use llsd_registry::credentials::provider_plugin::PluginConfig;
use tokio::task::JoinSet;

use super::{Exit, Outcome};
use crate::controller::{self, Context, Scope, Settings};
use crate::health::{Alive, BindAddress, BindError, Health, Listeners, Ready};
use crate::leadership::{self, Leadership};
use crate::shutdown::Shutdown;
use crate::telemetry::{self, Metrics, logs};

const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
/// How long the process may take to end.
const GRACE: Duration = Duration::from_secs(20);
/// How soon a term that could not begin is tried again.
const RETRY: Duration = Duration::from_secs(2);
/// The longest that one reconcile may take; a lookup in a slow registry alone may take two minutes.
const TIME_LIMIT: Duration = Duration::from_secs(150);
/// A runtime that did nothing for so long will not do anything again.
const STUCK: Duration = Duration::from_secs(30);
/// How often running servers are asked how they are.
const SERVER_POLL: Duration = Duration::from_mins(1);

/// Run the operator
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Namespaces to look after, with commas between them; without it the whole cluster
    #[arg(long, env = "WATCH_NAMESPACE", default_value = "", value_name = "NAMESPACES")]
    watch_namespace: String,

    /// The operator's own namespace, for its lease and its configuration
    #[arg(long, env = "OPERATOR_NAMESPACE", value_name = "NAMESPACE")]
    operator_namespace: Option<String>,

    /// The operator's own image, which the Redis sidecar runs
    #[arg(long, env = "OPERATOR_IMAGE", value_name = "IMAGE")]
    operator_image: Option<String>,

    /// The name of this replica; without it the host's
    #[arg(long, env = "POD_NAME", value_name = "NAME")]
    pod_name: Option<String>,

    /// Where metrics are served; 0 switches them off
    #[arg(long, default_value = ":8080", value_name = "ADDRESS")]
    metrics_bind_address: BindAddress,

    /// Where /healthz and /readyz are served; 0 switches them off
    #[arg(long, default_value = ":8081", value_name = "ADDRESS")]
    health_probe_bind_address: BindAddress,

    /// Whether one of several replicas leads; without it this one works at once
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = ArgAction::Set)]
    leader_elect: bool,

    /// Where servers are reached, with {name}, {namespace} and {port}; for an operator outside of
    /// the cluster
    #[arg(long, value_name = "URL")]
    server_url_template: Option<String>,

    /// Watch the metadata of Secrets, so that a change is noticed at once; needs the role of
    /// deploy/secret-watch.yaml
    #[arg(long)]
    watch_secrets: bool,

    /// Resources that are worked on at the same time
    #[arg(long, default_value_t = 16, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..))]
    concurrency: u16,

    /// How often a resource at rest is looked at, in seconds
    #[arg(long, default_value_t = 3600, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    resync: u64,

    /// How often each referenced Secret is read again, in seconds
    #[arg(long, default_value_t = 45, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    secret_refresh: u64,

    /// The kubelet's configuration of credential-provider plugins
    #[arg(long, value_name = "FILE", requires = "image_credential_provider_bin_dir")]
    image_credential_provider_config: Option<PathBuf>,

    /// The folder with the plugins' programs
    #[arg(long, value_name = "DIR")]
    image_credential_provider_bin_dir: Option<PathBuf>,

    /// How the log is written
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    log_format: Format,

    /// What is logged: error, warn, info, debug or trace
    #[arg(long, env = "LOG_LEVEL", default_value = "info", value_name = "LEVEL")]
    log_level: String,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// Why the operator cannot start.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("there is no cluster to work in: {0}")]
    NoCluster(#[source] Box<kube::Error>),
    #[error("there is no cluster to work in: {0}")]
    NoConfig(#[source] Box<kube::config::InferConfigError>),
    #[error("the credential plugins cannot be used: {0}")]
    Plugins(String),
    #[error("health and metrics cannot be served: {0}")]
    Address(#[from] BindError),
    #[error("no runtime: {0}")]
    Runtime(#[from] std::io::Error),
}

pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let format = match arguments.log_format {
        Format::Text => logs::Format::Text,
        Format::Json => logs::Format::Json,
    };
    if let Err(error) = logs::init(format, &arguments.log_level) {
        return Outcome::usage(&error.to_string()).deliver();
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let ended = runtime.map_err(Failure::from).and_then(|runtime| {
        let ended = runtime.block_on(operate(arguments));
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

async fn operate(arguments: &Arguments) -> Result<(), Failure> {
    let (_trigger, shutdown) = Shutdown::on_signals(GRACE)?;
    let metrics = Metrics::new(env!("CARGO_PKG_VERSION"));
    let mut background = JoinSet::new();
    let ready = Ready::default();
    serve(arguments, &metrics, &ready, &shutdown, &mut background).await?;
    let config = Config::infer().await.map_err(|error| Failure::NoConfig(Box::new(error)))?;
    let namespace = operator_namespace(arguments, &config);
    let client =
        telemetry::client(config, &metrics).map_err(|error| Failure::NoCluster(Box::new(error)))?;
    let settings = settings(arguments, &namespace);
    let plugins = plugins(arguments)?;
    tracing::info!(version = settings.operator_version, namespace, scope = ?settings.scope, "starting");
    // The lease is given back when the work has ended, not when it was asked to end.
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let mut leadership = None;
    let mut campaigns = JoinSet::new();
    if arguments.leader_elect {
        let election = leadership::Settings::new(&namespace);
        let (standing, campaign) =
            leadership::campaign(client.clone(), election, async { drop(ended.await) });
        campaigns.spawn(campaign);
        leadership = Some(standing);
    }
    ready.set();
    let plugins = Arc::new(plugins);
    while !shutdown.is_requested() {
        tokio::select! {
            () = acquired(leadership.as_mut()) => {}
            () = shutdown.requested() => break,
        }
        metrics.leading(true);
        let term = term(&client, &settings, &plugins, &metrics, &shutdown);
        let mut watching = leadership.clone();
        tokio::select! {
            () = term => {}
            () = lost(watching.as_mut()) => {
                tracing::warn!("leadership is lost; another replica works on");
            }
        }
        metrics.leading(false);
    }
    drop(end);
    let _ = tokio::time::timeout(Duration::from_secs(3), async {
        while campaigns.join_next().await.is_some() {}
    })
    .await;
    Ok(())
}

/// Health and metrics, from the first moment.
async fn serve(
    arguments: &Arguments,
    metrics: &Metrics,
    ready: &Ready,
    shutdown: &Shutdown,
    background: &mut JoinSet<()>,
) -> Result<(), Failure> {
    let probes = &arguments.health_probe_bind_address;
    let listeners = Listeners::bind(probes, &arguments.metrics_bind_address).await?;
    tracing::info!(probes = ?listeners.probes(), metrics = ?listeners.metrics(), "serving");
    let alive = Alive::new(STUCK);
    let health = Health {
        alive: alive.clone(),
        ready: ready.clone(),
        shutdown: shutdown.clone(),
        metrics: metrics.clone(),
    };
    background.spawn(async move { alive.keep_beating().await });
    background.spawn(async move {
        if let Err(error) = listeners.serve(health).await {
            tracing::error!(%error, "health and metrics are no longer served");
        }
    });
    Ok(())
}

/// One term of leadership: everything is read anew, as another replica may have worked meanwhile.
async fn term(
    client: &kube::Client,
    settings: &Settings,
    plugins: &Arc<ProviderPlugins>,
    metrics: &Metrics,
    shutdown: &Shutdown,
) {
    let context =
        Context::new(client.clone(), settings.clone(), Arc::clone(plugins), metrics.clone()).await;
    match context {
        Ok(context) => controller::run(Arc::new(context), shutdown.clone(), || {}).await,
        Err(error) => {
            tracing::error!("{error}; trying again");
            tokio::select! {
                () = tokio::time::sleep(RETRY) => {}
                () = shutdown.requested() => {}
            }
        }
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

fn settings(arguments: &Arguments, namespace: &str) -> Settings {
    let host = || std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    Settings {
        scope: Scope::parse(&arguments.watch_namespace),
        operator_namespace: namespace.to_owned(),
        operator_image: arguments.operator_image.clone(),
        operator_version: env!("CARGO_PKG_VERSION").to_owned(),
        instance: arguments.pod_name.clone().unwrap_or_else(|| host().trim().to_owned()),
        concurrency: arguments.concurrency.into(),
        time_limit: TIME_LIMIT,
        resync: Duration::from_secs(arguments.resync),
        secret_refresh: Duration::from_secs(arguments.secret_refresh),
        watch_secrets: arguments.watch_secrets,
        server_poll: SERVER_POLL,
        server_url: arguments.server_url_template.clone(),
        grace: GRACE / 2,
    }
}

/// The flag or variable, else the pod's own, else, outside of a cluster, the one that the
/// kubeconfig names.
fn operator_namespace(arguments: &Arguments, config: &Config) -> String {
    let given = arguments.operator_namespace.clone();
    let own = || std::fs::read_to_string(NAMESPACE_FILE).ok().map(|text| text.trim().to_owned());
    given.or_else(own).unwrap_or_else(|| config.default_namespace.clone())
}

fn plugins(arguments: &Arguments) -> Result<ProviderPlugins, Failure> {
    let (Some(config), Some(programs)) =
        (&arguments.image_credential_provider_config, &arguments.image_credential_provider_bin_dir)
    else {
        return Ok(ProviderPlugins::default());
    };
    let read = PluginConfig::read(config).and_then(|config| ProviderPlugins::new(config, programs));
    read.map_err(|problems| {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Failure::Plugins(problems.join("; "))
    })
}
