//! `llsd access`: who may call a server, checked without it.

mod test;

use clap::{Args, Subcommand};

use super::Printout;

/// Find out who may call a server, without asking it
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: AccessCommand,
}

#[derive(Debug, Subcommand)]
enum AccessCommand {
    Test(Box<test::Arguments>),
}

pub(super) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    let AccessCommand::Test(arguments) = &arguments.action;
    test::run(arguments)
}
