//! A server as it was when it was looked at, for people and for scripts.

use llsd_plan::live::DeploymentState;
use llsd_plan::resource::callers;
use serde_json::{Value, json};

use super::screen::{Screen, screen};
use super::states::{SeenWorkload, ServerState};
use crate::command::cluster::Cluster;
use crate::command::cluster_error::ClusterError;
use crate::command::colours::{self, Colour};
use crate::command::format::OutputFormat;

/// A server as it was when it was looked at.
pub(super) struct SeenServer {
    pub(super) resource: Value,
    workload: SeenWorkload,
    pub(super) screen: Screen,
}

impl SeenServer {
    /// Whether the server is ready stands in the resource alone; what else cannot be read is left out.
    pub(super) async fn look(cluster: &Cluster, name: &str) -> Result<Self, ClusterError> {
        let resource = cluster.resource(name).await?;
        Ok(Self::new(resource, SeenWorkload::look(cluster, name).await))
    }

    pub(super) fn new(resource: Value, workload: SeenWorkload) -> Self {
        let screen = screen(&resource, &workload);
        Self { resource, workload, screen }
    }

    pub(super) fn print(&self, output: OutputFormat) -> String {
        output.print(&self.found(), || colours::for_stdout(self.screen.text.clone(), colour))
    }

    /// For scripts.
    fn found(&self) -> Value {
        let Self { resource, workload, screen } = self;
        let status = &resource["status"];
        let pods = DeploymentState::parse(&workload.deployment);
        let counted = json!({"wanted": pods.wanted, "available": pods.available});
        let is_known = !workload.hides_its_deployment();
        json!({
            "name": resource["metadata"]["name"],
            "namespace": resource["metadata"]["namespace"],
            "ready": screen.is_ready,
            "phase": status["phase"],
            "image": pods.image,
            "pods": is_known.then_some(counted),
            "serviceURL": status["serviceURL"],
            "routeURL": status["routeURL"],
            "callers": callers::described(resource),
            "conditions": status["conditions"],
            "states": workload.states.iter().map(ServerState::to_json).collect::<Vec<_>>(),
            "unread": workload.unread,
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
