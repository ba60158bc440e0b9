//! Why a command learned nothing from a cluster, and what to do about it, in the words that kubectl's users
//! know in place of a library's.

use std::error::Error as StdError;
use std::fmt;
use std::io::{self, ErrorKind};

use kube::client::AuthError;
use kube::core::Status;
use llsd_api::KIND;

use super::Printout;
use super::asked_server::AskedServer;
use crate::operator::controller::Error as OperatorError;
use crate::operator::controller::state::safe_message;
use crate::operator::telemetry::api_calls::NoAnswer;

/// Why a command that asks a cluster came to nothing.
#[derive(Debug)]
pub(super) enum ClusterError {
    /// No server is known.
    Kubeconfig { message: String, remedy: String, is_usage: bool },
    /// The server has no such resource.
    NotThere { message: String },
    /// What the server said, or why it said nothing.
    Api(Box<kube::Error>),
    /// Something else that the command needs.
    Other(String),
}

impl From<kube::Error> for ClusterError {
    fn from(error: kube::Error) -> Self {
        Self::Api(Box::new(error))
    }
}

impl From<String> for ClusterError {
    fn from(message: String) -> Self {
        Self::Other(message)
    }
}

impl From<OperatorError> for ClusterError {
    fn from(error: OperatorError) -> Self {
        match error {
            OperatorError::Discovery(error) => Self::Api(error),
            other => Self::Other(other.to_string()),
        }
    }
}

impl fmt::Display for ClusterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.explained().0)
    }
}

impl ClusterError {
    /// What is wrong and what to do, which may be nothing.
    fn explained(&self) -> (String, String) {
        match self {
            Self::Kubeconfig { message, remedy, .. } => (message.clone(), remedy.clone()),
            Self::NotThere { message } => {
                let remedy = "`llsd top -A` lists those of all namespaces; -n names another";
                (message.clone(), remedy.to_owned())
            }
            Self::Api(error) => {
                let (message, remedy) = of_api(error);
                (message, remedy.to_owned())
            }
            Self::Other(message) => (message.clone(), String::new()),
        }
    }

    /// With the server that was asked, where it has to do with that.
    pub(super) fn printout(&self, server: Option<&AskedServer>) -> Printout {
        let (mut text, remedy) = self.explained();
        if let (Some(server), Self::Api(_) | Self::NotThere { .. }) = (server, self) {
            text = format!("{text} ({server})");
        }
        let text = with_remedy(text, &remedy);
        match self {
            Self::Kubeconfig { is_usage: true, .. } => Printout::usage(&text),
            _ => Printout::unavailable(&text),
        }
    }

    /// The lines for stderr about one of several things, where a command goes on with the others.
    pub(super) fn about(&self, subject: &str) -> String {
        let (message, remedy) = self.explained();
        format!("error: {}\n", with_remedy(format!("{subject}: {message}"), &remedy))
    }

    /// Whether the server refuses the caller: asking again brings the same answer.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self.code(), Some(401 | 403))
    }

    /// Whether the server answers that there is no such resource.
    pub(super) fn is_missing(&self) -> bool {
        matches!(self, Self::NotThere { .. }) || self.code() == Some(404)
    }

    fn code(&self) -> Option<u16> {
        let Self::Api(error) = self else { return None };
        match &**error {
            kube::Error::Api(status) => Some(status.code),
            _ => None,
        }
    }
}

fn with_remedy(text: String, remedy: &str) -> String {
    if remedy.is_empty() { text } else { format!("{text}\n    → {remedy}") }
}

const ANOTHER: &str = "see that the cluster is up and can be reached from here; --context and --kubeconfig name \
                       another one";

/// What is wrong, where a command goes on without the answer.
pub(super) fn words(error: &kube::Error) -> String {
    of_api(error).0
}

fn of_api(error: &kube::Error) -> (String, &'static str) {
    match error {
        kube::Error::Api(status) => of_status(status),
        kube::Error::Auth(error) => (no_credentials(error), LOG_IN),
        kube::Error::Service(error) => of_connection(&**error),
        kube::Error::HyperError(error) => of_connection(error),
        kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => (safe_message(error), ANOTHER),
        other => (deepest(other).to_string(), "correct the kubeconfig"),
    }
}

const LOG_IN: &str = "log in again, or renew the credentials of the kubeconfig's user";

fn of_status(status: &Status) -> (String, &'static str) {
    let message = status.message.clone();
    match status.code {
        401 => ("you must be logged in to the server (Unauthorized)".to_owned(), LOG_IN),
        403 => (
            message,
            "ask who manages the cluster for this right; `kubectl auth can-i --list` shows those that you have",
        ),
        // An API that is not there is answered in plain text.
        404 if status.reason != "NotFound" => (
            format!("the server does not know {KIND} in the version v1alpha2"),
            "install the operator there with `llsd manifests`, or name another cluster with --context or --kubeconfig",
        ),
        429 | 500..=599 => {
            (message, "try again; `kubectl get --raw /readyz?verbose` shows how the server is")
        }
        _ => (message, ""),
    }
}

/// A request that got no answer.
fn of_connection(error: &(dyn StdError + 'static)) -> (String, &'static str) {
    let chain = || std::iter::successors(Some(error), |error| StdError::source(*error));
    if let Some(NoAnswer(patience)) = chain().find_map(|error| error.downcast_ref()) {
        let message = format!("the server did not answer within {} s", patience.as_secs());
        return (message, ANOTHER);
    }
    if let Some(error) = chain().find_map(|one| one.downcast_ref()) {
        return (no_credentials(error), LOG_IN);
    }
    let said = |words: &str| chain().any(|error| error.to_string().contains(words));
    if said("dns error") {
        let why = deepest(error);
        return (format!("the server's name cannot be looked up: {why}"), ANOTHER);
    }
    if said("invalid peer certificate") {
        return (
            format!("the server's certificate is not trusted: {}", deepest(error)),
            "see that the kubeconfig's certificate-authority-data is that of this cluster",
        );
    }
    let kind = chain().find_map(|error| error.downcast_ref::<io::Error>().map(io::Error::kind));
    let message = match kind {
        Some(ErrorKind::ConnectionRefused) => "the connection to the server was refused".to_owned(),
        Some(ErrorKind::TimedOut) => "the server cannot be connected to in time".to_owned(),
        Some(ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof) => {
            "the server closed the connection".to_owned()
        }
        _ => format!("the server cannot be reached: {}", deepest(error)),
    };
    (message, ANOTHER)
}

fn no_credentials(error: &AuthError) -> String {
    let why = match error {
        AuthError::AuthExecStart(error) => format!("its program cannot be run: {error}"),
        // The library shows all that the program printed, on stdout as well.
        AuthError::AuthExecRun { cmd, out } => {
            let said = String::from_utf8_lossy(&out.stderr).trim().to_owned();
            format!("{cmd} ended with {}: {said}", out.status)
        }
        other => deepest(other).to_string(),
    };
    format!("the credentials of the kubeconfig cannot be used: {why}")
}

/// What the others are because of; libraries say little about what they pass on.
fn deepest<'a>(mut error: &'a (dyn StdError + 'static)) -> &'a (dyn StdError + 'static) {
    while let Some(source) = error.source() {
        error = source;
    }
    error
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Outer(&'static str, #[source] io::Error);

    #[test]
    fn what_a_library_hides_in_its_sources_is_said() {
        for (error, expected) in [
            (
                Outer("dns error", io::Error::other("failed to lookup address information")),
                "the server's name cannot be looked up: failed to lookup address information",
            ),
            (
                Outer("connect", io::Error::other("invalid peer certificate: UnknownIssuer")),
                "the server's certificate is not trusted: invalid peer certificate: UnknownIssuer",
            ),
            (
                Outer("connect", ErrorKind::TimedOut.into()),
                "the server cannot be connected to in time",
            ),
            (Outer("read", ErrorKind::ConnectionReset.into()), "the server closed the connection"),
            (
                Outer("connect", io::Error::other("no route")),
                "the server cannot be reached: no route",
            ),
        ] {
            assert_eq!(of_connection(&error).0, expected);
        }
        let silent = of_connection(&NoAnswer(Duration::from_secs(30)));
        assert_eq!(silent, ("the server did not answer within 30 s".to_owned(), ANOTHER));
    }
}
