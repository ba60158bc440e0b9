//! `llsd provider`: for those who write external providers, and for the init container that installs
//! one.

mod check;
mod done;
mod folder;
mod init;
mod install;
mod package;
mod program;
mod server;
mod sources;
mod target;
mod unpacked;
mod written;

use clap::{Args, Subcommand};
use llsd_provider::python::TELL;

use super::registry_access::{Failure, Remarks};
use super::runtime::runtime;
use super::{Exit, Printout, waiting};
use done::Done;

/// Make, check and install packages of external providers
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: ProviderCommand,
}

#[derive(Debug, Subcommand)]
enum ProviderCommand {
    Init(init::Arguments),
    Check(Box<check::Arguments>),
    Package(Box<package::Arguments>),
    Install(Box<install::Arguments>),
    CopyProgram(program::Arguments),
    /// Print the program by which a server's Python says what it is, for --server
    ServerProgram,
}

pub(super) fn run(arguments: &Arguments) -> Printout {
    let mut remarks = Remarks::default();
    let result = match &arguments.action {
        ProviderCommand::Init(arguments) => init::run(arguments),
        ProviderCommand::Install(arguments) => install::run(arguments, &mut remarks),
        ProviderCommand::CopyProgram(arguments) => program::run(arguments),
        ProviderCommand::ServerProgram => Ok((TELL.to_owned(), Exit::Fine)),
        ProviderCommand::Check(arguments) => waited(check::run(arguments, &mut remarks)),
        ProviderCommand::Package(arguments) => waited(package::run(arguments, &mut remarks)),
    };
    let (stdout, exit) =
        result.unwrap_or_else(|failure| (String::new(), failure.print_to(&mut remarks)));
    Printout { stdout, stderr: remarks.text().to_owned(), exit }
}

fn waited(work: impl Future<Output = Done>) -> Done {
    let runtime = runtime().map_err(Failure::Usage)?;
    runtime.block_on(waiting::for_work("asking the registry", work))
}
