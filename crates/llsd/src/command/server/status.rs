//! `llsd status`: one screen about a server, once, at each change, or when it is ready.

use std::time::Duration;

use clap::Args;

use super::follow::{Until, duration, follow};
use super::seen::SeenServer;
use crate::command::cluster::{self, ResourceName};
use crate::command::format::OutputFormat;
use crate::command::{Exit, Printout};

/// How long `--wait` waits: a node may have to pull an image of several gigabytes.
const PATIENCE: Duration = Duration::from_mins(10);

/// Say what runs, from what, what is pending, what is wrong and what to do
///
/// Ends with 1 where the resource is not ready. With --wait it ends once the resource is ready; with 1 once it was
/// not in time, or if for a minute nothing could happen before somebody acts. --wait and --watch end with 3 once the
/// resource is deleted or may no longer be read. Who may not read Deployments or ReplicaSets is shown all the rest.
#[derive(Debug, Args)]
pub(in crate::command) struct Arguments {
    #[command(flatten)]
    resource: ResourceName,

    /// Show it again at each change
    #[arg(short, long)]
    watch: bool,

    /// Wait until the resource is ready
    #[arg(long)]
    wait: bool,

    /// With --wait: how long, such as 90s or 10m, which is the default
    #[arg(long, value_name = "DURATION", value_parser = duration, requires = "wait")]
    timeout: Option<Duration>,

    /// How to print it
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: OutputFormat,
}

pub(in crate::command) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    let Arguments { resource: ResourceName { name, place }, .. } = arguments;
    if arguments.watch || arguments.wait {
        let until = arguments.wait.then(|| Until::Ready(arguments.timeout.unwrap_or(PATIENCE)));
        let until = until.unwrap_or(Until::Stopped);
        return cluster::run_speaking(place, async |cluster| {
            cluster.resource(name).await?;
            follow(&cluster, name, arguments.output, arguments.watch, until).await
        });
    }
    cluster::run(place, async |cluster| {
        let seen = SeenServer::look(&cluster, name).await?;
        let exit = if seen.screen.is_ready { Exit::Fine } else { Exit::Problems };
        Ok(Printout { stdout: seen.print(arguments.output), stderr: String::new(), exit })
    })
}
