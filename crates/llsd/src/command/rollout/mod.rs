//! `llsd rollout`: what is held back is applied, and what failed is tried again.

mod approve;
mod progress;

use clap::{Args, Subcommand};
use llsd_plan::resource::RETRY;

use super::Printout;
use super::cluster::{self, ResourceName};

/// Apply what is held back, or try again what failed
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: RolloutCommand,
}

#[derive(Debug, Subcommand)]
enum RolloutCommand {
    Approve(approve::Arguments),
    /// Try again what was rolled back, or refused before it was rolled out
    ///
    /// Sets the annotation llamastack.io/retry of the resource.
    Retry(ResourceName),
}

pub(super) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    match &arguments.command {
        RolloutCommand::Approve(arguments) => approve::run(arguments),
        RolloutCommand::Retry(resource) => {
            cluster::run_annotate(resource, RETRY, &format!("{} is tried again", resource.name))
        }
    }
}
