//! `llsd provider check`: everything that is wrong with a provider's folder or image, and what the
//! operator makes of it.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use llsd_provider::{Loader, ProviderPackage};
use llsd_registry::Reference;

use super::done::Done;
use super::server::ServerFlags;
use super::target::{FoundPackages, of_folder, of_image};
use crate::command::Exit;
use crate::command::registry_access::{Connection, Failure, Remarks};

/// Check a provider's folder or image: all problems at once, and what the operator would do
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// A folder as the image has it under /lls-provider, or an image in a registry
    #[arg(value_name = "DIR|IMAGE")]
    target: String,

    #[command(flatten)]
    server: ServerFlags,

    #[command(flatten)]
    connection: Connection,
}

pub(super) async fn run(arguments: &Arguments, remarks: &mut Remarks) -> Done {
    let server = arguments.server.server()?;
    let path = PathBuf::from(&arguments.target);
    let found = if path.is_dir() {
        vec![of_folder(&path, server.as_ref())]
    } else {
        let reference = image(&arguments.target, &path)?;
        of_image(&reference, server.as_ref(), &arguments.connection, remarks).await?
    };
    let mut stdout = String::new();
    let mut exit = Exit::Fine;
    for FoundPackages { platform, packages, faults } in &found {
        let of = platform.as_ref().map(|platform| format!("{platform}: ")).unwrap_or_default();
        for fault in faults {
            exit = Exit::Problems;
            remarks.problem(&format!("{of}{}", fault.at), &fault.message, &fault.remedy);
        }
        if faults.is_empty() {
            for package in packages {
                describe(package, &of, &mut stdout);
            }
        }
    }
    Ok((stdout, exit))
}

fn image(text: &str, path: &Path) -> Result<Reference, Failure> {
    let is_path = text.starts_with(['.', '/']) || path.exists();
    let wrong = |why: &str| Failure::Usage(format!("{text}: {why}"));
    if is_path {
        return Err(wrong("it is no folder"));
    }
    text.parse().map_err(|error: llsd_registry::InvalidReference| wrong(&error.to_string()))
}

/// What the operator makes of it.
fn describe(package: &ProviderPackage, of: &str, text: &mut String) {
    let ProviderPackage { name, version, vendor, provider_type, api, package_name, .. } = package;
    let _ = writeln!(text, "{of}{name} {version} of {vendor}: {provider_type} for the API {api}");
    let loaded = match &package.loader {
        Loader::Module => format!("as module: {package_name}"),
        Loader::ProvidersD { config_class, .. } => {
            format!("from providers.d, module {package_name}, configuration {config_class}")
        }
    };
    let _ = writeln!(text, "  the server loads it {loaded}");
    for wheel in std::iter::once(&package.wheel).chain(&package.dependency_wheels) {
        let _ = writeln!(text, "  installed: {wheel}, unless the server has what it brings");
    }
}
