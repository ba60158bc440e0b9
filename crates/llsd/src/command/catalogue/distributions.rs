//! `llsd distributions`: what a resource may name, and the image behind each name.

use clap::Args;
use llsd_plan::releases::Distribution;
use serde_json::{Value, json};

use crate::command::Printout;
use crate::command::columns::{aligned, row};
use crate::command::format::OutputFormat;

/// List the distributions that a resource may name, with image and release
///
/// These are the images to mirror where a cluster has no internet; `llsd version` names the operator's.
#[derive(Debug, Args)]
pub(in crate::command) struct Arguments {
    /// How to print it
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: OutputFormat,
}

pub(in crate::command) fn run(arguments: &Arguments) -> Printout {
    let found = Distribution::all().iter().map(|(name, known)| {
        let Distribution { image, release, succeeds, .. } = known;
        json!({"name": name, "image": image, "release": release, "succeeds": succeeds})
    });
    let found: Value = found.collect();
    Printout::fine(arguments.output.print(&found, || {
        let mut rows = vec![row(["NAME", "IMAGE", "RELEASE"])];
        let all = Distribution::all().iter();
        rows.extend(all.map(|(name, known)| row([name, &known.image, &known.release])));
        aligned(&rows)
    }))
}
