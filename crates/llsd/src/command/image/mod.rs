//! `llsd image`: shows which configuration an image in a registry carries in its labels, and writes
//! such labels.

mod inspect;
mod inspection;
mod label;
mod usable;

use clap::{Args, Subcommand};

use super::registry_access::Remarks;
use super::runtime::runtime;
use super::{Printout, waiting};

/// Show or write the configuration labels of an image in a registry
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: ImageCommand,
}

#[derive(Debug, Subcommand)]
enum ImageCommand {
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
            ImageCommand::Inspect(arguments) => {
                Box::pin(inspect::run(arguments, &mut remarks)).await
            }
            ImageCommand::Label(arguments) => Box::pin(label::run(arguments, &mut remarks)).await,
        }
    };
    let result = runtime.block_on(waiting::for_work("asking the registry", work));
    let (stdout, exit) =
        result.unwrap_or_else(|failure| (String::new(), failure.print_to(&mut remarks)));
    Printout { stdout, stderr: remarks.0, exit }
}
