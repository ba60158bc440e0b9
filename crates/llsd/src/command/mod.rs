//! The command line: one module per subcommand. A command computes a [`Printout`] and prints nothing
//! itself; only one that serves until it is stopped writes a log meanwhile.

mod access;
mod api_version;
mod asked_server;
mod catalogue;
mod cluster;
mod cluster_error;
mod colours;
mod columns;
mod completion;
mod diff;
mod doctor;
mod examples;
mod exit_codes;
mod explain;
mod facts_flags;
mod files;
mod format;
mod image;
mod image_config;
mod init;
mod inputs;
mod kubeconfig;
mod live;
mod live_names;
mod manifests;
mod migrate;
mod offline;
mod printable;
mod printout;
mod provider;
mod redis_proxy;
pub mod registry_access;
mod registry_facts;
mod render;
mod report;
mod rollout;
mod run;
mod runtime;
mod schema;
mod server;
mod top;
mod up;
mod validate;
mod version;
mod waiting;
mod whole_file;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

pub use printout::{Exit, Printout};

/// The operator for Llama Stack servers, and the same engine as a command line.
#[derive(Debug, Parser)]
#[command(name = "llsd", version, arg_required_else_help = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::Arguments),
    Up(up::Arguments),
    Render(render::Arguments),
    Explain(explain::Arguments),
    Validate(validate::Arguments),
    Diff(diff::Arguments),
    Migrate(migrate::Arguments),
    Access(access::Arguments),
    Report(report::Arguments),
    Doctor(doctor::Arguments),
    Providers(catalogue::providers::Arguments),
    Distributions(catalogue::distributions::Arguments),
    Schema(schema::Arguments),
    /// Print the resource definition
    Crd,
    Manifests(manifests::Arguments),
    Image(image::Arguments),
    Provider(provider::Arguments),
    Status(server::status::Arguments),
    Top(top::Arguments),
    History(server::history::Arguments),
    Rollback(server::rollback::Arguments),
    Rollout(rollout::Arguments),
    Logs(server::logs::Arguments),
    /// Restart a server's pods, with nothing changed
    ///
    /// Does what `kubectl rollout restart` does to the server's Deployment: you need to be allowed to
    /// patch it.
    Restart(cluster::ResourceName),
    /// Look the tag of a server's image up again, and run what it names now
    ///
    /// Sets the annotation llamastack.io/refresh of the resource. A tag that names the same image as before
    /// changes nothing.
    Refresh(cluster::ResourceName),
    RedisProxy(redis_proxy::Arguments),
    Completion(completion::Arguments),
    Version(version::Arguments),
    Run(Box<run::Arguments>),
}

impl Command {
    fn run(&self) -> ExitCode {
        let printout = match self {
            Self::Run(arguments) => return run::run(arguments),
            Self::Init(arguments) => init::run(arguments),
            Self::Up(arguments) => up::run(arguments),
            Self::Render(arguments) => render::run(arguments),
            Self::Explain(arguments) => explain::run(arguments),
            Self::Validate(arguments) => validate::run(arguments),
            Self::Diff(arguments) => diff::run(arguments),
            Self::Migrate(arguments) => migrate::run(arguments),
            Self::Access(arguments) => access::run(arguments),
            Self::Report(arguments) => report::run(arguments),
            Self::Doctor(arguments) => doctor::run(arguments),
            Self::Providers(arguments) => catalogue::providers::run(arguments),
            Self::Distributions(arguments) => Ok(catalogue::distributions::run(arguments)),
            Self::Schema(arguments) => Ok(schema::run(arguments)),
            Self::Crd => Ok(manifests::run_crd()),
            Self::Manifests(arguments) => Ok(manifests::run(arguments)),
            Self::Image(arguments) => Ok(image::run(arguments)),
            Self::Provider(arguments) => Ok(provider::run(arguments)),
            Self::Status(arguments) => server::status::run(arguments),
            Self::Top(arguments) => top::run(arguments),
            Self::History(arguments) => server::history::run(arguments),
            Self::Rollback(arguments) => server::rollback::run(arguments),
            Self::Rollout(arguments) => rollout::run(arguments),
            Self::Logs(arguments) => server::logs::run(arguments),
            Self::Restart(resource) => server::restart::restart(resource),
            Self::Refresh(resource) => server::restart::refresh(resource),
            Self::RedisProxy(arguments) => Ok(redis_proxy::run(arguments)),
            Self::Completion(arguments) => Ok(completion::run(arguments)),
            Self::Version(arguments) => Ok(version::run(arguments)),
        };
        printout.unwrap_or_else(|early| early).deliver()
    }
}

/// The command line as data: what manual pages and completions are made from.
pub fn definition() -> clap::Command {
    exit_codes::added(examples::added(CommandLine::command()))
}

/// Runs the command line `arguments`, the program's own name first.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(answer) = completion::answer(&arguments, definition) {
        return answer.deliver();
    }
    let called_as = arguments.first().map(|name| usage_name(Path::new(name)));
    let mut command_line = definition();
    if let Some(name) = called_as {
        command_line = command_line.bin_name(name);
    }
    let parsed = command_line
        .try_get_matches_from(arguments)
        .and_then(|matches| CommandLine::from_arg_matches(&matches));
    match parsed {
        Ok(command_line) => command_line.command.run(),
        Err(error) => {
            let error = advised(error);
            let _ = error.print();
            ExitCode::from(if error.use_stderr() { Exit::Usage } else { Exit::Fine } as u8)
        }
    }
}

/// With the flag for files, where somebody gave one without it.
fn advised(mut error: clap::Error) -> clap::Error {
    let word = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(word))) => word.clone(),
        _ => return error,
    };
    if files::looks_like_a_file(&word) {
        let advice = format!("files are given with -f: -f {word}").into();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice]));
    }
    error
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
        definition().debug_assert();
    }

    fn without_examples(command: &clap::Command, path: &str, found: &mut Vec<String>) {
        let path = format!("{path} {}", command.get_name());
        if command.get_after_help().is_none() {
            found.push(path.clone());
        }
        for below in command.get_subcommands() {
            without_examples(below, &path, found);
        }
    }

    #[test]
    fn every_command_has_examples() {
        let mut found = Vec::new();
        without_examples(&definition(), "", &mut found);
        assert_eq!(found, Vec::<String>::new());
    }

    /// What stands behind `#` is for people; the rest must be a command line that there is.
    #[test]
    fn every_example_is_a_command_line_that_there_is() {
        for (_, examples) in examples::EXAMPLES {
            for line in examples.lines() {
                let command = line
                    .split(['#', '|', '>', '(', ')'])
                    .find(|part| part.contains("llsd"))
                    .unwrap();
                let words: Vec<&str> =
                    command.split_whitespace().skip_while(|word| *word != "llsd").collect();
                let parsed = definition().try_get_matches_from(&words);
                let help = |error: &clap::Error| error.kind() == ErrorKind::DisplayHelp;
                assert!(parsed.as_ref().err().is_none_or(help), "{line}: {parsed:?}");
            }
        }
    }
}
