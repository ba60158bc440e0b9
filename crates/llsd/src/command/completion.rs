//! `llsd completion`: what a shell needs to complete the command line.

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use super::Printout;

/// Print what a shell needs to complete commands and flags
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments, mut definition: Command) -> Printout {
    let mut script = Vec::new();
    generate(arguments.shell, &mut definition, "llsd", &mut script);
    Printout::fine(String::from_utf8_lossy(&script).into_owned())
}
