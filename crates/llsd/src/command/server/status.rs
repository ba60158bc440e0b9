//! `llsd status`: one screen about a server.

use clap::Args;

use super::screen::screen;
use super::states::of_server;
use crate::command::cluster::{self, Place};
use crate::command::{Exit, Printout};

/// Say what runs, from what, what is pending, what is wrong and what to do
///
/// Ends with 1 where the resource is not ready.
#[derive(Debug, Args)]
pub(in crate::command) struct Arguments {
    /// The resource
    name: String,

    #[command(flatten)]
    place: Place,
}

pub(in crate::command) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    cluster::run(async |cluster| {
        let cluster = cluster.at(&arguments.place);
        let resource = cluster.resource(&arguments.name).await?;
        let (deployment, states) = of_server(&cluster, &arguments.name).await?;
        let screen = screen(&resource, &deployment, &states);
        let exit = if screen.is_ready { Exit::Fine } else { Exit::Problems };
        Ok(Printout { stdout: screen.text, stderr: String::new(), exit })
    })
}
