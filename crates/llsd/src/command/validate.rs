//! `llsd validate`: all problems and warnings of the given resources at once, with their lines.

use clap::{Args, ValueEnum};
use llsd_offline::{StreamTexts, validate};

use super::colours::{self, Colour};
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
    /// SARIF 2.1.0 on stdout, for code scanners
    Sarif,
    /// Workflow commands on stdout, which GitHub shows beside the lines of a change
    Github,
}

pub(super) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    let report = validate(arguments.inputs.read_all()?);
    let exit = if report.is_refused() { Exit::Problems } else { Exit::Fine };
    let on_stdout = |stdout| Printout { stdout, stderr: String::new(), exit };
    Ok(match arguments.output {
        ReportFormat::Json => on_stdout(report.to_json()),
        ReportFormat::Sarif => on_stdout(report.to_sarif()),
        ReportFormat::Github => on_stdout(report.to_github()),
        ReportFormat::Text => {
            let StreamTexts { stdout, stderr } = report.to_text();
            let stdout = colours::for_stdout(stdout, |line| {
                line.ends_with(": valid").then_some(Colour::Green)
            });
            Printout { stdout, stderr, exit }
        }
    })
}
