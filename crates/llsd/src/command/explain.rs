//! `llsd explain`: config.yaml with the origin of every line beside it; or what a field of the resource is.

use clap::Args;
use llsd_api::conversion::Version;
use llsd_offline::explain::{explain, found};
use llsd_offline::field_help::{field_help, is_field};
use serde_json::json;

use super::Printout;
use super::api_version::api_version;
use super::colours::{self, Colour};
use super::format::OutputFormat;
use super::inputs::Inputs;
use super::offline::{plans, unless_missing};

/// Print config.yaml with the origin of every line: a field, the base, or a rule
///
/// A path such as spec.providers.inference.endpoint in place of a name says what that field of the resource is;
/// nothing is asked for it.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The version of the resource that a field is of
    #[arg(long, value_name = "VERSION", default_value = "v1alpha2", value_parser = api_version)]
    api_version: Version,

    /// How to print it
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: OutputFormat,

    #[command(flatten)]
    inputs: Inputs,
}

pub(super) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    if let Some(path) = arguments.inputs.name().filter(|name| is_field(name)) {
        let help =
            field_help(path, arguments.api_version).map_err(|wrong| Printout::usage(&wrong))?;
        return Ok(Printout::fine(arguments.output.print(&json!(help), || help.to_text())));
    }
    let plans = plans(arguments.inputs.read_all()?)?;
    let configurations = plans.configurations();
    Ok(unless_missing(&plans, &configurations, || {
        arguments.output.print(&found(&plans, &configurations), || {
            colours::for_stdout(explain(&plans, &configurations), colour)
        })
    }))
}

/// What the resource asks for, and what the operator adds; the rest is the base's.
fn colour(line: &str) -> Option<Colour> {
    match line.rsplit_once("  # ") {
        Some((_, "base")) | None => None,
        Some((_, rule)) if rule.starts_with("rule: ") => Some(Colour::Yellow),
        Some(_) => Some(Colour::Green),
    }
}
