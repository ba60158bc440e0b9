//! The flags of `llsd up`.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::command::facts_flags::FactsFlags;
use crate::command::files::FileFlags;

/// Run a resource's server on this machine, without a cluster
///
/// The server's release is installed from the package index, once, with the packages that the providers of the file
/// need; it listens on 127.0.0.1 alone, keeps its state in a folder, and ends with Ctrl-C. Providers of the base that
/// need PyTorch, or packages of their own, are left out unless the file refers to them. Secrets are not read: their
/// values come from a .env file. What only a cluster has is named and has no effect. Needs Linux or macOS, and Python
/// 3.12 or 3.13, or uv.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("resources").args(["files"]).required(true))]
pub(in crate::command) struct Arguments {
    #[command(flatten)]
    pub(super) files: FileFlags,

    /// Values of Secrets, and other variables of the server, as NAME=VALUE lines [default: .env beside the file]
    #[arg(long, value_name = "FILE")]
    pub(super) env_file: Option<PathBuf>,

    /// The address of a provider from here, in place of the one in the file
    #[arg(long = "endpoint", value_name = "ID=URL", value_parser = endpoint)]
    pub(super) endpoints: Vec<(String, String)>,

    /// The folder of the server's state [default: .llsd/NAME beside the file]
    #[arg(long, value_name = "DIR")]
    pub(super) data: Option<PathBuf>,

    /// The port on 127.0.0.1 [default: networking.port of the file, else 8321]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1024..))]
    pub(super) port: Option<u16>,

    /// Restart the server when a file changes and the new configuration passes the preflight
    #[arg(long)]
    pub(super) watch: bool,

    /// Keep every provider of the base and install its packages, PyTorch among them
    #[arg(long)]
    pub(super) all_providers: bool,

    /// The Python to run the server on
    #[arg(long, value_name = "FILE", conflicts_with = "environment")]
    pub(super) python: Option<PathBuf>,

    /// A virtual environment with the server, in place of one that is made; nothing is installed into it
    #[arg(long, value_name = "DIR")]
    pub(super) environment: Option<PathBuf>,

    #[command(flatten)]
    pub(super) facts: FactsFlags,
}

impl Arguments {
    /// Whether one of the files is stdin.
    pub(super) fn is_stdin_named(&self) -> bool {
        let mut facts = self.facts.files();
        self.files.is_stdin_named() || facts.any(|file| file == Path::new("-"))
    }
}

fn endpoint(text: &str) -> Result<(String, String), &'static str> {
    let (id, url) =
        text.split_once('=').ok_or("must be ID=URL, such as vllm=http://localhost:8000")?;
    if id.is_empty() || url.is_empty() {
        return Err("must have an id before the `=` and an address after it");
    }
    Ok((id.to_owned(), url.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_has_an_id_and_an_address() {
        let given = endpoint("vllm=http://localhost:8000/v1?a=b").unwrap();
        assert_eq!(given, ("vllm".to_owned(), "http://localhost:8000/v1?a=b".to_owned()));
        for text in ["vllm", "=http://localhost", "vllm="] {
            assert!(endpoint(text).is_err(), "{text}");
        }
    }
}
