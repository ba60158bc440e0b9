//! `llsd render`: everything that the operator would apply, without a cluster.

mod folder;
mod record;

use std::fmt::Write;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use llsd_offline::render::{folders, list, stream};
use llsd_offline::{Configuration, Plans};
use llsd_plan::problems::Problem;

use super::inputs::Inputs;
use super::offline::{fine, plans, unless_missing};
use super::{Exit, Printout};
use folder::{FolderChanges, InTheWay};
use record::Stranger;

/// Print everything that the operator would apply, without a cluster
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// `yaml`, `json`: all objects; `config`: config.yaml alone; `dir=DIR`: one file per object, and config.yaml
    /// and env.yaml in DIR/files; what an earlier run wrote there and this one does not is removed
    #[arg(short, long, default_value = "yaml", value_name = "yaml|json|config|dir=DIR")]
    output: Form,

    #[command(flatten)]
    inputs: Inputs,
}

/// What is printed or written.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    /// All objects, as one stream.
    Yaml,
    /// All objects, as one list.
    Json,
    /// config.yaml alone.
    Config,
    /// Files in a folder.
    Folder(PathBuf),
}

impl FromStr for Form {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text, text.strip_prefix("dir=")) {
            ("yaml", _) => Ok(Self::Yaml),
            ("json", _) => Ok(Self::Json),
            ("config", _) => Ok(Self::Config),
            (_, Some(folder)) if !folder.is_empty() => Ok(Self::Folder(folder.into())),
            _ => Err("use yaml, json, config or dir=DIR"),
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    let input = arguments.inputs.read_all()?;
    if arguments.output == Form::Config && input.resources.len() > 1 {
        let count = input.resources.len();
        return Err(Printout::usage(&format!(
            "-o config prints one config.yaml, and there are {count} resources; use -o dir=DIR"
        )));
    }
    let plans = plans(input)?;
    let path = match &arguments.output {
        Form::Yaml => return Ok(fine(&plans, stream(&plans))),
        Form::Json => return Ok(fine(&plans, list(&plans))),
        Form::Config => None,
        Form::Folder(path) => Some(path),
    };
    let configurations = plans.configurations();
    let Some(path) = path else {
        return Ok(unless_missing(&plans, &configurations, || {
            configurations.iter().flatten().map(Configuration::text).collect()
        }));
    };
    match folder::write(path, &folders(&plans, &configurations)) {
        Ok(written) => Ok(list_of_files(&plans, &configurations, &written)),
        Err(InTheWay::Fault(message)) => Err(Printout::usage(&message)),
        Err(InTheWay::Strangers(files)) => Ok(refused(&plans, &configurations, &files)),
    }
}

/// Nothing is written, because files that earlier runs did not write, or that were changed since, would be lost.
fn refused(
    plans: &Plans,
    configurations: &[Result<Configuration<'_>, Problem>],
    files: &[Stranger],
) -> Printout {
    let Printout { mut stderr, .. } = unless_missing(plans, configurations, String::new);
    for Stranger { file, is_changed } in files {
        let why = if *is_changed {
            "somebody changed it since it was rendered"
        } else {
            "it is there, and no earlier run wrote it"
        };
        let _ = writeln!(stderr, "error: {file}: {why}");
    }
    stderr.push_str("    → move such files away, or choose another folder; nothing was written\n");
    Printout { stdout: String::new(), stderr, exit: Exit::Problems }
}

/// A configuration that only a cluster has is left out of its folder, and the exit code says so.
fn list_of_files(
    plans: &Plans,
    configurations: &[Result<Configuration<'_>, Problem>],
    written: &FolderChanges,
) -> Printout {
    let mut printout = unless_missing(plans, configurations, String::new);
    if printout.exit == Exit::Unavailable {
        printout.stderr.push_str("config.yaml was left out; everything else was written\n");
    }
    for file in &written.written {
        let _ = writeln!(printout.stderr, "wrote {file}");
    }
    for file in &written.removed {
        let _ = writeln!(printout.stderr, "removed {file}, which is no longer rendered");
    }
    for file in &written.kept {
        let _ = writeln!(
            printout.stderr,
            "warning: {file} is no longer rendered, and was not removed because it was changed"
        );
    }
    printout
}
