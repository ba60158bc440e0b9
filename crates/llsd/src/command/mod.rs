//! The command line: one module per subcommand. A command computes a [`Printout`] and prints nothing
//! itself; only one that serves until it is stopped writes a log meanwhile.

mod diff;
mod explain;
mod facts_flags;
mod files;
mod image;
mod image_config;
mod inputs;
mod manifests;
mod migrate;
mod offline;
mod printout;
mod redis_proxy;
mod render;
mod run;
mod validate;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

pub use printout::{Exit, Printout};

/// The operator for Llama Stack servers, and the same engine as a command line.
#[derive(Debug, Parser)]
#[command(name = "llsd", version, disable_help_subcommand = true, arg_required_else_help = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Render(render::Arguments),
    Explain(explain::Arguments),
    Validate(validate::Arguments),
    Diff(diff::Arguments),
    Migrate(migrate::Arguments),
    /// Print the resource definition
    Crd,
    Manifests(manifests::Arguments),
    Image(image::Arguments),
    RedisProxy(redis_proxy::Arguments),
    Run(Box<run::Arguments>),
}

impl Command {
    fn run(&self) -> ExitCode {
        let printout = match self {
            Self::Run(arguments) => return run::run(arguments),
            Self::Render(arguments) => render::run(arguments),
            Self::Explain(arguments) => explain::run(arguments),
            Self::Validate(arguments) => validate::run(arguments),
            Self::Diff(arguments) => diff::run(arguments),
            Self::Migrate(arguments) => migrate::run(arguments),
            Self::Crd => Ok(manifests::run_crd()),
            Self::Manifests(arguments) => Ok(manifests::run(arguments)),
            Self::Image(arguments) => Ok(image::run(arguments)),
            Self::RedisProxy(arguments) => Ok(redis_proxy::run(arguments)),
        };
        printout.unwrap_or_else(|early| early).deliver()
    }
}

/// Runs the command line `arguments`, the program's own name first.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let called_as = arguments.first().map(|name| usage_name(Path::new(name)));
    let mut command_line = CommandLine::command();
    if let Some(name) = called_as {
        command_line = command_line.bin_name(name);
    }
    let parsed = command_line
        .try_get_matches_from(arguments)
        .and_then(|matches| CommandLine::from_arg_matches(&matches));
    match parsed {
        Ok(command_line) => command_line.command.run(),
        Err(error) => {
            let _ = error.print();
            ExitCode::from(if error.use_stderr() { Exit::Usage } else { Exit::Fine } as u8)
        }
    }
}

/// kubectl calls its plugin `x` by the file name `kubectl-x`, while users type `kubectl x`.
fn usage_name(program: &Path) -> String {
    let name = program.file_stem().unwrap_or_default().to_string_lossy();
    match name.strip_prefix("kubectl-") {
        Some(plugin) => format!("kubectl {plugin}"),
        None if name.is_empty() => "llsd".to_owned(),
        None => name.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_follows_the_name_the_program_was_called_by() {
        assert_eq!(usage_name(Path::new("/usr/local/bin/llsd")), "llsd");
        assert_eq!(usage_name(Path::new("/usr/local/bin/kubectl-llsd")), "kubectl llsd");
        assert_eq!(usage_name(Path::new("")), "llsd");
    }

    #[test]
    fn the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }
}
