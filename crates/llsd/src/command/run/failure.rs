//! Why the operator cannot start.

use std::fmt;

use llsd_registry::settings::ConfigProblem;

use crate::command::cluster_error::ClusterError;
use crate::operator::health::BindError;

/// Why the operator cannot start.
#[derive(Debug, thiserror::Error)]
pub(super) enum StartFailure {
    #[error("there is no cluster to work in: {0}")]
    NoCluster(#[source] Box<kube::Error>),
    #[error("there is no cluster to work in: {0}")]
    NoConfig(ClusterError),
    #[error("the credential plugins cannot be used: {0}")]
    Plugins(PluginProblems),
    #[error("health and metrics cannot be served: {0}")]
    Address(#[from] BindError),
    #[error("webhooks cannot be served: {0}")]
    WebhookAddress(#[source] BindError),
    #[error("webhooks cannot be served: {0}")]
    Tls(#[from] tokio_rustls::rustls::Error),
    #[error("no runtime: {0}")]
    Runtime(#[from] std::io::Error),
}

/// All that is wrong with the configuration of credential plugins.
#[derive(Debug)]
pub(super) struct PluginProblems(pub(super) Vec<ConfigProblem>);

impl fmt::Display for PluginProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problems: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&problems.join("; "))
    }
}
