//! `llsd status`: one screen about a server.

use clap::Args;
use llsd_plan::live::DeploymentState;
use llsd_plan::resource::callers;
use serde_json::{Value, json};

use super::screen::screen;
use super::states::{ServerState, of_server};
use crate::command::cluster::{self, ResourceName};
use crate::command::colours::{self, Colour};
use crate::command::format::OutputFormat;
use crate::command::{Exit, Printout};

/// Say what runs, from what, what is pending, what is wrong and what to do
///
/// Ends with 1 where the resource is not ready.
#[derive(Debug, Args)]
pub(in crate::command) struct Arguments {
    #[command(flatten)]
    resource: ResourceName,

    /// How to print it
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: OutputFormat,
}

pub(in crate::command) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    cluster::run(&arguments.resource.place, async |cluster| {
        let resource = cluster.resource(&arguments.resource.name).await?;
        let (deployment, states) = of_server(&cluster, &arguments.resource.name).await?;
        let screen = screen(&resource, &deployment, &states);
        let exit = if screen.is_ready { Exit::Fine } else { Exit::Problems };
        let found = found(&resource, screen.is_ready, &deployment, &states);
        let stdout =
            arguments.output.print(&found, || colours::for_stdout(screen.text.clone(), colour));
        Ok(Printout { stdout, stderr: String::new(), exit })
    })
}

/// For scripts.
fn found(resource: &Value, is_ready: bool, deployment: &Value, states: &[ServerState]) -> Value {
    let status = &resource["status"];
    let pods = DeploymentState::parse(deployment);
    json!({
        "name": resource["metadata"]["name"],
        "namespace": resource["metadata"]["namespace"],
        "ready": is_ready,
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

fn colour(line: &str) -> Option<Colour> {
    match line.split_whitespace().next() {
        Some("wrong") => Some(Colour::Red),
        Some("pending") => Some(Colour::Yellow),
        _ => None,
    }
}
