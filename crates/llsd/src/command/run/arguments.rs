//! What `llsd run` is called with: its flags and variables, and what they mean for the parts of the
//! operator.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};
use kube::Config;
use llsd_install::names::{HEALTH_PORT, METRICS_PORT};
use llsd_registry::credentials::ProviderPlugins;
use llsd_registry::credentials::provider_plugin::PluginConfig;

use super::failure::{PluginProblems, StartFailure};
use super::webhook_flags::{self, NoCertificates};
use crate::command::kubeconfig::KubeconfigFlags;
use crate::operator::controller::{Scope, Settings};
use crate::operator::health::BindAddress;
use crate::operator::telemetry::logs;
use crate::operator::telemetry::traces::{self, Exporter, NoEndpoint, Traces};

/// How long the process may take to end.
pub(super) const GRACE: Duration = Duration::from_secs(20);
const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
/// The longest that one reconcile may take; registries and servers are asked apart from it.
const TIME_LIMIT: Duration = Duration::from_secs(150);
/// How often running servers are asked how they are, unless resources are looked at more often.
const SERVER_POLL: Duration = Duration::from_mins(1);

/// How long a worker waits for a registry; most answer within that.
const REGISTRY_PATIENCE: Duration = Duration::from_millis(200);

/// Run the operator
#[derive(Debug, Args)]
pub(in crate::command) struct Arguments {
    /// Namespaces to look after, with commas between them; without it the whole cluster
    #[arg(
        long,
        visible_alias = "watch-namespaces",
        env = "WATCH_NAMESPACE",
        default_value = "",
        value_name = "NAMESPACES"
    )]
    watch_namespace: String,

    /// The operator's own namespace, for its lease and its configuration
    #[arg(long, env = "OPERATOR_NAMESPACE", value_name = "NAMESPACE")]
    operator_namespace: Option<String>,

    #[command(flatten)]
    pub(super) kubeconfig: KubeconfigFlags,

    /// The operator's own image, which the Redis sidecar runs
    #[arg(long, env = "OPERATOR_IMAGE", value_name = "IMAGE")]
    operator_image: Option<String>,

    /// The name of this replica; without it the host's
    #[arg(long, env = "POD_NAME", value_name = "NAME")]
    pod_name: Option<String>,

    #[command(flatten)]
    pub(super) metrics: MetricsFlags,

    /// Where /healthz and /readyz are served; 0 switches them off
    #[arg(long, default_value_t = BindAddress::Everywhere(HEALTH_PORT), value_name = "ADDRESS")]
    pub(super) health_probe_bind_address: BindAddress,

    /// Use leader election; if disabled, start immediately
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = ArgAction::Set)]
    pub(super) leader_elect: bool,

    /// Where servers are reached, with {name}, {namespace} and {port}; for an operator outside of
    /// the cluster
    #[arg(long, value_name = "URL")]
    server_url_template: Option<String>,

    /// Watch the metadata of Secrets, so that a change is noticed at once; needs the role of
    /// deploy/secret-watch.yaml
    #[arg(long)]
    watch_secrets: bool,

    /// Write all resources back once when older ones may be stored as v1alpha1; needs the role of
    /// deploy/storage-migration.yaml
    #[arg(long)]
    pub(super) migrate_storage: bool,

    /// Resources that are worked on at the same time
    #[arg(long, default_value_t = 16, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..))]
    concurrency: u16,

    /// How often a resource is reconciled although nothing changed, in seconds
    #[arg(long, default_value_t = 3600, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    resync: u64,

    /// How often each referenced Secret is read again, in seconds
    #[arg(long, default_value_t = 45, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    secret_refresh: u64,

    /// How long a change may take for its judgement, in seconds, before it is rolled out without one. It is not rolled
    /// out for waiting for its turn
    #[arg(long, default_value_t = 600, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(10..=86400))]
    preflight_deadline: u64,

    /// Preflights that run at the same time; namespaces take turns
    #[arg(long, default_value_t = 10, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..))]
    preflight_jobs: u16,

    /// The kubelet's configuration of credential-provider plugins
    #[arg(long, value_name = "FILE", requires = "image_credential_provider_bin_dir")]
    image_credential_provider_config: Option<PathBuf>,

    /// The folder with the plugins' programs
    #[arg(long, value_name = "DIR")]
    image_credential_provider_bin_dir: Option<PathBuf>,

    #[command(flatten)]
    webhooks: webhook_flags::Flags,

    /// The collector that is sent traces, such as http://collector:4318, by OTLP over HTTP; without it
    /// there are none
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT", default_value = "", value_name = "URL")]
    otlp_endpoint: String,

    /// How the log is written
    #[arg(long, value_enum, default_value_t = logs::Format::Text, value_name = "FORMAT")]
    pub(super) log_format: logs::Format,

    /// What is logged: error, warn, info, debug or trace
    #[arg(long, env = "LOG_LEVEL", default_value = "info", value_name = "LEVEL")]
    pub(super) log_level: String,
}

// How metrics are served. No documentation: it would become the command's.
#[derive(Debug, Args)]
pub(super) struct MetricsFlags {
    /// Where metrics are served; 0 switches them off
    #[arg(long, default_value_t = BindAddress::Everywhere(METRICS_PORT), value_name = "ADDRESS")]
    pub(super) metrics_bind_address: BindAddress,

    /// Let only those read metrics whose token may get the path /metrics; needs the role
    /// llama-stack-k8s-operator-metrics-auth-role
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = ArgAction::Set)]
    pub(super) metrics_authentication: bool,
}

impl Arguments {
    /// What records traces and what sends them; nothing where no collector is named.
    pub(super) fn traces(&self) -> Result<Option<(Traces, Exporter)>, NoEndpoint> {
        match self.otlp_endpoint.as_str() {
            "" => Ok(None),
            endpoint => Ok(Some(traces::to(endpoint.parse()?, &self.instance()))),
        }
    }

    /// The name of this replica.
    fn instance(&self) -> String {
        let host = || std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        self.pod_name.clone().unwrap_or_else(|| host().trim().to_owned())
    }

    /// Whether and how webhooks are served; what is wrong with the flags, otherwise.
    pub(super) fn webhooks(&self) -> Result<Option<webhook_flags::Plan>, NoCertificates> {
        // A kubeconfig wins over the pod's own account, here as in kube.
        let in_a_cluster = std::env::var_os("KUBECONFIG").is_none()
            && !self.kubeconfig.is_given()
            && std::path::Path::new(NAMESPACE_FILE).exists();
        self.webhooks.plan(&self.scope(), in_a_cluster)
    }

    fn scope(&self) -> Scope {
        Scope::parse(&self.watch_namespace)
    }

    pub(super) fn settings(&self, namespace: &str) -> Settings {
        Settings {
            scope: self.scope(),
            is_operator: true,
            operator_namespace: namespace.to_owned(),
            operator_image: self.operator_image.clone(),
            operator_version: env!("CARGO_PKG_VERSION").to_owned(),
            instance: self.instance(),
            concurrency: self.concurrency.into(),
            time_limit: TIME_LIMIT,
            resync: Duration::from_secs(self.resync),
            secret_refresh: Duration::from_secs(self.secret_refresh),
            watch_secrets: self.watch_secrets,
            server_poll: SERVER_POLL.min(Duration::from_secs(self.resync)),
            registry_patience: REGISTRY_PATIENCE,
            server_url: self.server_url_template.clone(),
            preflight_deadline: Duration::from_secs(self.preflight_deadline),
            preflight_jobs: self.preflight_jobs.into(),
            grace: GRACE / 2,
        }
    }

    /// The flag or variable, else the pod's own, else, outside of a cluster, the one that the
    /// kubeconfig names.
    pub(super) fn operator_namespace(&self, config: &Config) -> String {
        let given = self.operator_namespace.clone();
        let own =
            || std::fs::read_to_string(NAMESPACE_FILE).ok().map(|text| text.trim().to_owned());
        given.or_else(own).unwrap_or_else(|| config.default_namespace.clone())
    }

    /// The credential plugins; what is wrong with them, otherwise.
    pub(super) fn plugins(&self) -> Result<ProviderPlugins, StartFailure> {
        let (Some(config), Some(programs)) =
            (&self.image_credential_provider_config, &self.image_credential_provider_bin_dir)
        else {
            return Ok(ProviderPlugins::default());
        };
        let read =
            PluginConfig::load(config).and_then(|config| ProviderPlugins::new(config, programs));
        read.map_err(|problems| StartFailure::Plugins(PluginProblems(problems)))
    }
}
