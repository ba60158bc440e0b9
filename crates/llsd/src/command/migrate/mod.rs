//! `llsd migrate`: v1alpha1 resources as v1alpha2, as a person would write them, with the comments
//! and the documents around them, with `--to` for OGX; and with `--in-cluster` the objects that a cluster stores.

mod in_cluster;

use std::path::PathBuf;

use clap::Args;
use llsd_offline::migrate::{Migrated, migrate};
use llsd_plan::migrate::OgxTarget;

use super::facts_flags::FactsFlags;
use super::files::open_all;
use super::{Exit, Printout};

/// Rewrite v1alpha1 resources as v1alpha2, or bring the stored objects of a cluster up to it
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Files with resources in YAML or JSON; `-` is stdin. The result goes to stdout, what was
    /// decided to stderr
    #[arg(
        short = 'f',
        long = "filename",
        value_name = "FILE",
        required_unless_present = "in_cluster",
        num_args = 1..
    )]
    files: Vec<PathBuf>,

    /// Rewrite them for this release of OGX, too: `ogx-1.5`
    #[arg(long, value_name = "RELEASE", value_parser = OgxTarget::parse, conflicts_with = "in_cluster")]
    to: Option<OgxTarget>,

    /// Write every object of the cluster back in the version that is stored today, and take
    /// v1alpha1 off the list of stored versions
    #[arg(long, conflicts_with = "files")]
    in_cluster: bool,

    /// Fail with exit code 1 where there are warnings, and print no result
    #[arg(long, conflicts_with = "in_cluster")]
    strict: bool,

    /// Only say what would be done
    #[arg(long, requires = "in_cluster", conflicts_with = "files")]
    dry_run: bool,

    #[command(flatten)]
    facts: FactsFlags,
}

pub(super) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    if arguments.in_cluster && arguments.facts.is_given() {
        return Err(Printout::usage("what is known of an image is for files, not for a cluster"));
    }
    if arguments.in_cluster {
        return Ok(in_cluster::run(arguments.dry_run));
    }
    let sources = open_all(&arguments.files, arguments.facts.files())?;
    let mut known = arguments.facts.read_all()?;
    known.strict = arguments.strict;
    let Migrated { text, summary, report } = migrate(&sources, known, arguments.to);
    Ok(match text {
        None => Printout { stdout: String::new(), stderr: report.refusal(), exit: Exit::Problems },
        Some(stdout) => {
            Printout { stdout, stderr: format!("{summary}{}", report.findings()), exit: Exit::Fine }
        }
    })
}
