//! `llsd schema`: the resource as a JSON Schema, for editors.

use clap::Args;
use llsd_api::conversion::Version;
use llsd_offline::editor_schema;

use super::Printout;
use super::api_version::api_version;

/// Where samples look for the schema of the current version, beside themselves.
pub(super) const FILE: &str = "llsd.schema.json";

/// Print the resource's JSON Schema, with which editors complete and check
///
/// Editors with the YAML language server take it from the first line of a file:
/// `# yaml-language-server: $schema=llsd.schema.json`. Rules between fields are `llsd validate`'s to check.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The version of the resource
    #[arg(long, value_name = "VERSION", default_value = "v1alpha2", value_parser = api_version)]
    api_version: Version,
}

pub(super) fn run(arguments: &Arguments) -> Printout {
    Printout::fine(format!("{:#}\n", editor_schema(arguments.api_version)))
}
