//! `llsd image`: shows which configuration an image in a registry carries in its labels, and writes
//! such labels. Works with what the user may do: the user's own docker login, proxies, authorities.

mod access;
mod credential_helper;
mod docker_login;
mod inspect;
mod judge;
mod label;
mod report;

use clap::{Args, Subcommand};
use llsd_registry::Error;

use super::{Exit, Printout};

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
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Printout::usage(&format!("cannot start: {error}")),
    };
    let mut remarks = Remarks::default();
    let result = match &arguments.action {
        Action::Inspect(arguments) => {
            runtime.block_on(Box::pin(inspect::run(arguments, &mut remarks)))
        }
        Action::Label(arguments) => runtime.block_on(Box::pin(label::run(arguments, &mut remarks))),
    };
    let (stdout, exit) =
        result.unwrap_or_else(|failure| (String::new(), failure.tell(&mut remarks)));
    Printout { stdout, stderr: remarks.0, exit }
}

/// What goes to stderr, in the order in which it came up.
#[derive(Debug, Default)]
struct Remarks(String);

impl Remarks {
    fn say(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    fn warn(&mut self, warning: &str) {
        self.say(&format!("warning: {warning}"));
    }

    fn problem(&mut self, at: &str, message: &str, remedy: &str) {
        self.say(&format!("{at}: {message}\n    → {remedy}"));
    }
}

/// Why a command came to nothing.
#[derive(Debug)]
enum Failure {
    /// Called in a way that it cannot serve.
    Usage(String),
    /// Something about the image or the configuration is for the user to mend.
    Problem {
        at: String,
        message: String,
        remedy: String,
    },
    /// Already said.
    Told,
    Registry(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Registry(error)
    }
}

impl Failure {
    fn tell(&self, remarks: &mut Remarks) -> Exit {
        match self {
            Self::Usage(message) => {
                remarks.say(&format!("error: {message}"));
                Exit::Usage
            }
            Self::Problem { at, message, remedy } => {
                remarks.problem(at, message, remedy);
                Exit::Problems
            }
            Self::Told => Exit::Problems,
            Self::Registry(error) => {
                let (exit, remedy) = advice(error);
                remarks.say(&format!("error: {error}"));
                if !remedy.is_empty() {
                    remarks.say(&format!("    → {remedy}"));
                }
                exit
            }
        }
    }
}

/// How a registry's error ends the command, and what the user can do about it.
fn advice(error: &Error) -> (Exit, &'static str) {
    match error {
        Error::InvalidReference(_) | Error::Configuration(_) => (Exit::Usage, ""),
        Error::InvalidLabel { .. } => {
            (Exit::Problems, "write the labels anew with llsd image label")
        }
        Error::NotInImage { .. }
        | Error::DeletedInLayer { .. }
        | Error::NotAFile { .. }
        | Error::BadLink { .. } => {
            (Exit::Problems, "give the path of the configuration as a container would see it")
        }
        Error::NotInLayer { .. }
        | Error::NoPlatform { .. }
        | Error::Malformed { .. }
        | Error::TooLarge { .. } => (Exit::Problems, ""),
        Error::Unauthorised { .. } | Error::MayNotPush { .. } => {
            (Exit::Unavailable, "log in with docker login, or point DOCKER_CONFIG to a login")
        }
        Error::NotFound { .. } => (
            Exit::Unavailable,
            "check the name; some registries say this too where a login is missing",
        ),
        Error::Unreachable { .. } => (
            Exit::Unavailable,
            "check host and network; a private authority needs --ca-file, a registry without TLS \
             --plain-http",
        ),
        Error::NotEncrypted { .. } => {
            (Exit::Unavailable, "allow it with --plain-http, where the network can be trusted")
        }
        _ => (Exit::Unavailable, ""),
    }
}
