//! `llsd validate`: all problems and warnings of the given resources at once, with their lines;
//! offline. What can only be checked with the image's configuration is checked as far as that is
//! known.

use clap::{Args, ValueEnum};

use super::examine::{Examined, report};
use super::inputs::Inputs;
use super::{Exit, Printout};

/// Check resources without a cluster: every problem and warning, with its line in the file
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// How to print what was found
    #[arg(short, long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    output: Format,

    #[command(flatten)]
    inputs: Inputs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Lines for people; findings go to stderr
    Text,
    /// One JSON document on stdout
    Json,
}

pub(super) fn run(arguments: &Arguments) -> Printout {
    let mut given = match arguments.inputs.read() {
        Ok(given) => given,
        Err(message) => return Printout::usage(&message),
    };
    let resources = std::mem::take(&mut given.resources);
    let examined: Vec<Examined> = resources
        .into_iter()
        .map(|resource| unchecked(Examined::new(resource, given.facts.as_ref())))
        .collect();
    let report = report(&given, &examined);
    let exit = if report.problem_count() == 0 { Exit::Fine } else { Exit::Problems };
    match arguments.output {
        Format::Json => Printout { stdout: report.to_json(), stderr: String::new(), exit },
        Format::Text => {
            let text = report.to_text();
            Printout { stdout: text.stdout, stderr: text.stderr, exit }
        }
    }
}

/// The resource by itself was judged; that the rest could not be is worth a warning, not a failure.
fn unchecked(mut examined: Examined) -> Examined {
    for mut finding in std::mem::take(&mut examined.missing) {
        let problem = &mut finding.problem;
        problem.message = format!(
            "{}, so the generated configuration was not checked; {}",
            problem.message, problem.remedy
        );
        examined.warnings.push(finding);
    }
    examined.warnings.sort_by_key(|finding| finding.at);
    examined
}
