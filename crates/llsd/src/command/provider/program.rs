//! `llsd provider copy-program`: this program's own file at another place, for an init container that runs
//! in an image without any program.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use clap::Args;

use super::done::Done;
use crate::command::Exit;
use crate::command::registry_access::Failure;

/// Copy this program, for containers whose images have none
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The file to write
    #[arg(value_name = "FILE")]
    to: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> Done {
    let wrong =
        |error: std::io::Error| Failure::Usage(format!("{}: {error}", arguments.to.display()));
    let own = std::env::current_exe().map_err(wrong)?;
    // Beside its place first: who starts it never finds half of it.
    let new = arguments.to.with_extension("new");
    fs::copy(own, &new).map_err(wrong)?;
    fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).map_err(wrong)?;
    fs::rename(new, &arguments.to).map_err(wrong)?;
    Ok((String::new(), Exit::Fine))
}
