//! `llsd validate`: all problems and warnings of the given resources at once, with their lines.

use clap::{Args, ValueEnum};
use llsd_offline::{StreamTexts, validate};

use super::inputs::Inputs;
use super::{Exit, Printout};

/// Check resources without a cluster: every problem and warning, with its line in the file
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// How to print what was found
    #[arg(short, long, value_enum, default_value_t = ReportFormat::Text, value_name = "FORMAT")]
    output: ReportFormat,

    #[command(flatten)]
    inputs: Inputs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ReportFormat {
    /// Lines for people; findings go to stderr
    Text,
    /// One JSON document on stdout
    Json,
}

pub(super) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    let report = validate(arguments.inputs.read_all()?);
    let exit = if report.is_refused() { Exit::Problems } else { Exit::Fine };
    Ok(match arguments.output {
        ReportFormat::Json => Printout { stdout: report.to_json(), stderr: String::new(), exit },
        ReportFormat::Text => {
            let StreamTexts { stdout, stderr } = report.to_text();
            Printout { stdout, stderr, exit }
        }
    })
}
