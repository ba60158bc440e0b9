//! `llsd init`: a sample to start from.

mod samples;

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use llsd_plan::problems::suggest::did_you_mean;

use self::samples::{SAMPLES, Sample};
use super::Printout;
use super::columns::{aligned, row};
use super::schema::FILE as SCHEMA;

/// Print a resource to start from; without a name, list what there is
///
/// The first line tells editors with the YAML language server where the schema is: `llsd schema` prints it.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The sample
    name: Option<String>,

    /// Write it into this file, which must not be there yet
    #[arg(short, long, value_name = "FILE", requires = "name")]
    output: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    let Some(name) = &arguments.name else { return Ok(Printout::fine(list())) };
    let text = with_modeline(found(name)?);
    let Some(path) = &arguments.output else { return Ok(Printout::fine(text)) };
    write_new(path, &text).map_err(|why| Printout::usage(&why))?;
    let schema = path.with_file_name(SCHEMA);
    let mut stdout = format!("wrote {}\n", path.display());
    if !schema.exists() {
        let hint =
            format!("`llsd schema > {}` lets your editor complete and check it", schema.display());
        stdout.push_str(&hint);
        stdout.push('\n');
    }
    Ok(Printout::fine(stdout))
}

fn list() -> String {
    let rows: Vec<Vec<String>> =
        SAMPLES.iter().map(|sample| row([sample.name(), sample.shows()])).collect();
    aligned(&rows)
}

fn found(name: &str) -> Result<&'static Sample, Printout> {
    let is_it =
        |sample: &&Sample| sample.name() == name || format!("v1alpha2-{}", sample.name()) == name;
    SAMPLES.iter().find(is_it).ok_or_else(|| {
        let names = SAMPLES.iter().map(Sample::name);
        let remedy = did_you_mean(name, names, "`llsd init` lists them");
        Printout::usage(&format!("there is no sample {name:?}; {remedy}"))
    })
}

/// The schema is of v1alpha2; a resource of the older version goes without.
fn with_modeline(sample: &Sample) -> String {
    if sample.name().starts_with("v1alpha1-") {
        return sample.text.to_owned();
    }
    format!("# yaml-language-server: $schema={SCHEMA}\n{}", sample.text)
}

/// Never in the place of what is there.
fn write_new(path: &Path, text: &str) -> Result<(), String> {
    let shown = path.display();
    let mut file = File::create_new(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            format!("{shown} is there already; choose another file, or remove it")
        }
        _ => format!("{shown}: {error}"),
    })?;
    file.write_all(text.as_bytes()).map_err(|error| format!("{shown}: {error}"))
}
