//! `make bench-scale`: what fleets of several sizes cost, each on a control plane of its own, for this operator and for
//! any other that reads v1alpha1. Prints one table, and draws what the processes took over time.

#![allow(clippy::cast_precision_loss, reason = "figures for people")]

mod figures;
mod measure;
mod measure_ours;

use std::path::PathBuf;

use anyhow::{Context, ensure};
use clap::Parser;

use figures::Figures;
use llsd_bench::picture;
use measure::Measurement;

/// Measures operators with fleets of several sizes
#[derive(Debug, Parser)]
struct Arguments {
    /// Numbers of resources
    #[arg(long, value_delimiter = ',', default_value = "100,1000")]
    sizes: Vec<usize>,

    /// The program of this operator [default: the one that was built beside this bench]
    #[arg(long, value_name = "FILE")]
    operator: Option<PathBuf>,

    /// Another operator's program, measured in the same run with v1alpha1 resources
    #[arg(long, value_name = "FILE", requires = "other_manifests")]
    other: Option<PathBuf>,

    /// What the other operator needs in the cluster: definitions, ConfigMaps
    #[arg(long, value_name = "FILE")]
    other_manifests: Option<PathBuf>,

    /// The other operator's flags, separated by spaces
    #[arg(long, value_name = "TEXT", default_value = "", allow_hyphen_values = true)]
    other_flags: String,

    /// Namespaces that the resources are spread over
    #[arg(long, default_value_t = 20)]
    namespaces: usize,

    /// Secrets and ConfigMaps of 1 KB that do not belong to the operator, of each so many
    #[arg(long, default_value_t = 10_000)]
    unrelated: usize,

    /// A folder for the pictures
    #[arg(long, value_name = "FOLDER")]
    pictures: Option<PathBuf>,
}

/// An operator to measure.
#[derive(Debug)]
enum Candidate {
    Ours(PathBuf),
    Other { program: PathBuf, manifests: PathBuf, arguments: Vec<String> },
}

impl Candidate {
    fn name(&self) -> String {
        match self {
            Self::Ours(_) => "this operator".to_owned(),
            Self::Other { program, .. } => {
                program.file_name().unwrap_or_default().to_string_lossy().into_owned()
            }
        }
    }
}

impl Arguments {
    fn candidates(&self) -> anyhow::Result<Vec<Candidate>> {
        let ours = match &self.operator {
            Some(path) => path.clone(),
            None => std::env::current_exe()?.with_file_name("llsd"),
        };
        let mut candidates = vec![Candidate::Ours(ours)];
        if let (Some(program), Some(manifests)) = (&self.other, &self.other_manifests) {
            let arguments = self.other_flags.split_whitespace().map(str::to_owned).collect();
            candidates.push(Candidate::Other {
                program: program.clone(),
                manifests: manifests.clone(),
                arguments,
            });
        }
        Ok(candidates)
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    ensure!(arguments.namespaces > 0, "--namespaces: the resources need at least one");
    ensure!(
        !arguments.sizes.contains(&0),
        "--sizes: without a resource there is nothing to measure"
    );
    let mut figures = Figures::default();
    let measured = measure_all(&arguments, &mut figures).await;
    // What was measured before a failure took long, too.
    print!("{figures}");
    measured
}

async fn measure_all(arguments: &Arguments, figures: &mut Figures) -> anyhow::Result<()> {
    for candidate in arguments.candidates()? {
        for count in &arguments.sizes {
            let name = candidate.name();
            eprintln!("\n{name}, {count} resources");
            let column = Measurement::take(&candidate, *count, arguments)
                .await
                .with_context(|| format!("{name} with {count} resources"))?;
            if let Some(folder) = &arguments.pictures {
                let file = folder.join(format!("{}-{count}.svg", name.replace(' ', "-")));
                picture::write(&file, &format!("{name}, {count} resources"), column.samples())?;
            }
            figures.add(column);
        }
    }
    Ok(())
}
