//! `llsd explain`: config.yaml with the origin of every line beside it.

use clap::Args;
use llsd_offline::explain::explain;

use super::Printout;
use super::inputs::Inputs;
use super::offline::{plans, unless_missing};

/// Print config.yaml with the origin of every line: a field, the base, or a rule
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    inputs: Inputs,
}

pub(super) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    let plans = plans(arguments.inputs.read_all()?)?;
    let configurations = plans.configurations();
    Ok(unless_missing(&plans, &configurations, || explain(&plans, &configurations)))
}
