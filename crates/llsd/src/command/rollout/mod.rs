//! `llsd rollout`: what is held back is applied, and what failed is tried again.

mod approve;
mod progress;

use clap::{Args, Subcommand};
use llsd_plan::resource::RETRY;

use super::Printout;
use super::cluster::{self, NamespaceFlag};

/// Apply what is held back, or try again what failed
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: RolloutCommand,
}

#[derive(Debug, Subcommand)]
enum RolloutCommand {
    Approve(approve::Arguments),
    Retry(Retry),
}

/// Try again what was rolled back, or refused before it was rolled out
///
/// Sets the annotation llamastack.io/retry of the resource.
#[derive(Debug, Args)]
struct Retry {
    /// The resource
    name: String,

    #[command(flatten)]
    place: NamespaceFlag,
}

pub(super) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    match &arguments.command {
        RolloutCommand::Approve(arguments) => approve::run(arguments),
        RolloutCommand::Retry(Retry { name, place }) => cluster::run(async |cluster| {
            let cluster = cluster.at(place);
            cluster.resource(name).await?;
            cluster.annotate(&cluster.namespace, name, RETRY, &cluster::now()).await?;
            let say = format!("{name} is tried again; `llsd status {name}` says how it goes\n");
            Ok(Printout::fine(say))
        }),
    }
}
