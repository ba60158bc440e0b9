//! `llsd rollout`: what is held back is applied, what failed is tried again, and how far a shared change is.

mod approve;
mod members;
mod progress;
mod retry;
mod status;

use clap::{Args, Subcommand};

use super::Printout;

/// Apply what is held back, try again what failed, or show how far a shared change is
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: RolloutCommand,
}

#[derive(Debug, Subcommand)]
enum RolloutCommand {
    Approve(approve::Arguments),
    Retry(retry::Arguments),
    Status(status::Arguments),
}

pub(super) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    match &arguments.command {
        RolloutCommand::Approve(arguments) => approve::run(arguments),
        RolloutCommand::Retry(arguments) => retry::run(arguments),
        RolloutCommand::Status(arguments) => status::run(arguments),
    }
}
