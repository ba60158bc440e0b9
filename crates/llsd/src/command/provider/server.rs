//! The server that a provider is for, as the command line says it.

use std::path::PathBuf;

use clap::Args;
use llsd_provider::python::{Architecture, Server, WrongVersion};

use crate::command::registry_access::Failure;

/// What the server runs on.
#[derive(Debug, Args)]
pub(super) struct ServerFlags {
    /// The server's Python, such as 3.12
    #[arg(long, value_name = "VERSION", conflicts_with = "server")]
    python: Option<String>,

    /// The server's machine: x86_64 or aarch64; without it, this one's
    #[arg(long, value_name = "MACHINE", value_parser = machine, conflicts_with = "server")]
    arch: Option<Architecture>,

    /// What the server's image says of itself: Python, machine, C library and packages, as JSON
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
}

fn machine(text: &str) -> Result<Architecture, String> {
    Architecture::from_name(text).ok_or_else(|| "it is neither x86_64 nor aarch64".to_owned())
}

impl ServerFlags {
    /// The server, where anything is said of it.
    pub(super) fn server(&self) -> Result<Option<Server>, Failure> {
        if let Some(file) = &self.server {
            let wrong = |why: String| Failure::Usage(format!("{}: {why}", file.display()));
            let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
            return Server::parse(&text).map(Some).map_err(wrong);
        }
        let Some(python) = &self.python else { return Ok(None) };
        let own = || Architecture::from_name(std::env::consts::ARCH);
        let machine = self.arch.or_else(own).ok_or_else(|| {
            Failure::Usage("--arch is needed: this machine is none that servers run on".to_owned())
        })?;
        let wrong = |WrongVersion(text)| Failure::Usage(format!("--python {text}: no Python 3"));
        Server::new(python, machine).map(Some).map_err(wrong)
    }
}
