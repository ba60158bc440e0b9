//! `llsd validate`: all problems and warnings of the given resources at once, with their lines;
//! offline.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use llsd_plan::validate::validate;

use super::{Exit, Outcome};
use crate::input::{Finding, Resource, Source, contents};
use crate::report::{Judged, Report};

/// Check resources without a cluster: every problem and warning, with its line in the file
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Files with resources in YAML or JSON; `-` is stdin
    #[arg(short = 'f', long = "filename", value_name = "FILE", required = true, num_args = 1..)]
    files: Vec<PathBuf>,

    /// How to print what was found
    #[arg(short, long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    output: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Lines for people; findings go to stderr
    Text,
    /// One JSON document on stdout
    Json,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let sources = match open(&arguments.files) {
        Ok(sources) => sources,
        Err(message) => return Outcome::usage(&message),
    };
    let mut report = Report::default();
    for source in &sources {
        let contents = contents(source);
        report.files.push(source.name.clone());
        report.resources.extend(contents.resources.into_iter().map(judge));
        report.remarks.extend(contents.remarks);
    }
    let exit = if report.problem_count() == 0 { Exit::Fine } else { Exit::Problems };
    match arguments.output {
        Format::Json => Outcome { stdout: report.to_json(), stderr: String::new(), exit },
        Format::Text => {
            let text = report.to_text();
            Outcome { stdout: text.stdout, stderr: text.stderr, exit }
        }
    }
}

/// Opens all files before any is judged, so that a mistyped name is not lost among findings.
fn open(files: &[PathBuf]) -> Result<Vec<Source>, String> {
    let stdin = files.iter().filter(|file| file.as_path() == Path::new("-")).count();
    if stdin > 1 {
        return Err("`-` can be given once only".to_owned());
    }
    files
        .iter()
        .map(|file| Source::open(file).map_err(|error| format!("{}: {error}", file.display())))
        .collect()
}

fn judge(resource: Resource) -> Judged {
    let (mut problems, mut warnings) = (resource.problems.clone(), resource.warnings.clone());
    if resource.version.is_some() {
        let findings = validate(&resource.to_json());
        let locate = |problem| Finding::locate(problem, &resource.tree);
        problems.extend(findings.problems.into_iter().map(locate));
        warnings.extend(findings.warnings.into_iter().map(locate));
    }
    problems.sort_by_key(|finding| finding.at);
    warnings.sort_by_key(|finding| finding.at);
    Judged {
        file: resource.file,
        document: resource.document,
        namespace: resource.namespace,
        name: resource.name,
        api_version: resource.api_version,
        problems,
        warnings,
    }
}
