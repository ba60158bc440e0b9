//! `llsd image`: shows which configuration an image in a registry carries in its labels, and writes
//! such labels. Works with what the user may do: the user's own docker login, proxies, authorities.

mod access;
mod credential_helper;
mod docker_login;
mod failure;
mod inspect;
mod inspection;
mod label;
mod usable;

use clap::{Args, Subcommand};

use super::runtime::runtime;
use super::{Printout, waiting};
pub use access::{Access, Connection, Opened};
pub use failure::{Failure, Remarks};

/// Show or write the configuration labels of an image in a registry
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Inspect(Box<inspect::Arguments>),
    Label(Box<label::Arguments>),
}

pub(super) fn run(arguments: &Arguments) -> Printout {
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(message) => return Printout::usage(&message),
    };
    let mut remarks = Remarks::default();
    let work = async {
        match &arguments.action {
            Action::Inspect(arguments) => Box::pin(inspect::run(arguments, &mut remarks)).await,
            Action::Label(arguments) => Box::pin(label::run(arguments, &mut remarks)).await,
        }
    };
    let result = runtime.block_on(waiting::for_work("asking the registry", work));
    let (stdout, exit) =
        result.unwrap_or_else(|failure| (String::new(), failure.print_to(&mut remarks)));
    Printout { stdout, stderr: remarks.0, exit }
}
