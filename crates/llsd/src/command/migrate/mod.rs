//! `llsd migrate`: v1alpha1 resources as v1alpha2, as a person would write them, with the comments
//! and the documents around them, with `--to` for OGX; and with `--in-cluster` the objects that a cluster stores.

mod in_cluster;
mod in_place;

use clap::{ArgGroup, Args};
use llsd_offline::migrate::{Migrated, migrate};
use llsd_plan::migrate::OgxTarget;

use super::facts_flags::FactsFlags;
use super::files::FileFlags;
use super::kubeconfig::KubeconfigFlags;
use super::{Exit, Printout};

/// Rewrite v1alpha1 resources as v1alpha2, or bring the stored objects of a cluster up to it
///
/// The result goes to stdout, what was decided to stderr.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command")]
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").args(["files", "in_cluster"]).required(true))]
pub(super) struct Arguments {
    #[command(flatten)]
    files: FileFlags,

    /// Write each result into its file instead of printing it
    #[arg(long, requires = "files")]
    in_place: bool,

    /// Rewrite them for this release of OGX, too: `ogx-1.5`
    #[arg(long, value_name = "RELEASE", value_parser = OgxTarget::parse, conflicts_with = "in_cluster")]
    to: Option<OgxTarget>,

    /// Write every object of the cluster back in the version that is stored today, and take
    /// v1alpha1 off the list of stored versions
    #[arg(long)]
    in_cluster: bool,

    /// Fail with exit code 1 where there are warnings, and print no result
    #[arg(long, conflicts_with = "in_cluster")]
    strict: bool,

    /// Only say what would be done
    #[arg(long, requires = "in_cluster", conflicts_with = "files")]
    dry_run: bool,

    #[command(flatten)]
    kubeconfig: KubeconfigFlags,

    #[command(flatten)]
    facts: FactsFlags,
}

pub(super) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    if arguments.in_cluster && arguments.facts.is_given() {
        return Err(Printout::usage("what is known of an image is for files, not for a cluster"));
    }
    if arguments.in_cluster {
        return in_cluster::run(&arguments.kubeconfig, arguments.dry_run);
    }
    if arguments.kubeconfig.is_given() {
        return Err(Printout::usage("--context and --kubeconfig are for --in-cluster"));
    }
    if arguments.in_place && arguments.files.is_stdin_named() {
        return Err(Printout::usage("--in-place is for files, and `-` is stdin"));
    }
    let sources = arguments.files.open_all(arguments.facts.files())?;
    let mut known = arguments.facts.read_all()?;
    known.strict = arguments.strict;
    let Migrated { text, changed, summary, report } = migrate(&sources, known, arguments.to);
    let Some(stdout) = text else {
        let stderr = report.refusal();
        return Ok(Printout { stdout: String::new(), stderr, exit: Exit::Problems });
    };
    let stderr = format!("{summary}{}", report.findings());
    if arguments.in_place {
        return in_place::write_back(&changed, stderr);
    }
    Ok(Printout { stdout, stderr, exit: Exit::Fine })
}
