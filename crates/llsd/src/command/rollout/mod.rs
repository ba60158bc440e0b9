//! `llsd rollout`: what is held back is applied, and what failed is tried again.

mod approve;
mod progress;
mod retry;

use clap::{Args, Subcommand};

use super::Printout;

/// Apply what is held back, or try again what failed
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: RolloutCommand,
}

#[derive(Debug, Subcommand)]
enum RolloutCommand {
    Approve(approve::Arguments),
    Retry(retry::Arguments),
}

pub(super) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    match &arguments.command {
        RolloutCommand::Approve(arguments) => approve::run(arguments),
        RolloutCommand::Retry(arguments) => retry::run(arguments),
    }
}
