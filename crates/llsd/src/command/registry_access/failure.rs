//! What goes to stderr, and why a command on an image came to nothing: the exit code and the advice
//! for each error of a registry.

use llsd_registry::Error;

use crate::command::Exit;

/// What goes to stderr, in the order in which it came up.
#[derive(Debug, Default)]
pub struct Remarks(pub(in crate::command) String);

impl Remarks {
    pub fn text(&self) -> &str {
        &self.0
    }

    pub(in crate::command) fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    pub(in crate::command) fn warn(&mut self, warning: &str) {
        self.line(&format!("warning: {warning}"));
    }

    pub(in crate::command) fn problem(&mut self, at: &str, message: &str, remedy: &str) {
        self.line(&format!("{at}: {message}\n    → {remedy}"));
    }
}

/// Why a command came to nothing.
#[derive(Debug)]
pub enum Failure {
    /// Called in a way that it cannot serve.
    Usage(String),
    /// Something about the image or the configuration is for the user to fix.
    Problem {
        at: String,
        message: String,
        remedy: String,
    },
    /// Already among the remarks.
    Remarked,
    Registry(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Registry(error)
    }
}

impl Failure {
    /// As a text by itself.
    pub fn text(&self) -> String {
        let mut remarks = Remarks::default();
        self.print_to(&mut remarks);
        remarks.0
    }

    /// Adds it to what goes to stderr.
    pub(in crate::command) fn print_to(&self, remarks: &mut Remarks) -> Exit {
        match self {
            Self::Usage(message) => {
                remarks.line(&format!("error: {message}"));
                Exit::Usage
            }
            Self::Problem { at, message, remedy } => {
                remarks.problem(at, message, remedy);
                Exit::Problems
            }
            Self::Remarked => Exit::Problems,
            Self::Registry(error) => {
                let (exit, remedy) = advice(error);
                remarks.line(&format!("error: {error}"));
                if !remedy.is_empty() {
                    remarks.line(&format!("    → {remedy}"));
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
