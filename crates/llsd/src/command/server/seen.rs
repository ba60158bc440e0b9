//! A server as it was when it was looked at, for people and for scripts.

use llsd_plan::live::DeploymentState;
use llsd_plan::resource::callers;
use serde_json::{Value, json};

use super::screen::{Screen, screen};
use super::states::{ServerState, of_server};
use crate::command::cluster::Cluster;
use crate::command::cluster_error::ClusterError;
use crate::command::colours::{self, Colour};
use crate::command::format::OutputFormat;

/// A server as it was when it was looked at.
pub(super) struct SeenServer {
    pub(super) resource: Value,
    deployment: Value,
    states: Vec<ServerState>,
    pub(super) screen: Screen,
}

impl SeenServer {
    pub(super) async fn look(cluster: &Cluster, name: &str) -> Result<Self, ClusterError> {
        let resource = cluster.resource(name).await?;
        let (deployment, states) = of_server(cluster, name).await?;
        Ok(Self::new(resource, deployment, states))
    }

    pub(super) fn new(resource: Value, deployment: Value, states: Vec<ServerState>) -> Self {
        let screen = screen(&resource, &deployment, &states);
        Self { resource, deployment, states, screen }
    }

    pub(super) fn print(&self, output: OutputFormat) -> String {
        output.print(&self.found(), || colours::for_stdout(self.screen.text.clone(), colour))
    }

    /// For scripts.
    fn found(&self) -> Value {
        let Self { resource, deployment, states, screen } = self;
        let status = &resource["status"];
        let pods = DeploymentState::parse(deployment);
        json!({
            "name": resource["metadata"]["name"],
            "namespace": resource["metadata"]["namespace"],
            "ready": screen.is_ready,
            "phase": status["phase"],
            "image": pods.image,
            "pods": {"wanted": pods.wanted, "available": pods.available},
            "serviceURL": status["serviceURL"],
            "routeURL": status["routeURL"],
            "callers": callers::described(resource),
            "conditions": status["conditions"],
            "states": states.iter().map(ServerState::to_json).collect::<Vec<_>>(),
        })
    }
}

fn colour(line: &str) -> Option<Colour> {
    match line.split_whitespace().next() {
        Some("wrong") => Some(Colour::Red),
        Some("pending") => Some(Colour::Yellow),
        _ => None,
    }
}
