//! The flags that say offline what the operator would ask a registry and a cluster for. The most
//! specific one wins: `--base` and `--release`, then `--image-config`, then `--facts`.

use std::path::{Path, PathBuf};

use clap::Args;
use llsd_offline::{Input, Known};

use super::files::open;
use super::{Printout, image_config};

#[derive(Debug, Args)]
#[command(next_help_heading = "What is known of the image and the cluster")]
pub(super) struct FactsFlags {
    /// The configuration inside the image, instead of the one embedded for its distribution
    #[arg(long, value_name = "FILE")]
    base: Option<PathBuf>,

    /// The image's OCI configuration as JSON, as `crane config IMAGE` prints it, for its labels
    #[arg(long, value_name = "FILE")]
    image_config: Option<PathBuf>,

    /// The release of the server inside the image: 0.7.3 is llama-stack's, ogx-1.5.0 is OGX's
    #[arg(long, value_name = "RELEASE", value_parser = release)]
    release: Option<String>,

    /// Facts about image, Secrets, ConfigMaps and cluster (see docs/configuration.md)
    #[arg(long, value_name = "FILE")]
    facts: Option<PathBuf>,
}

impl FactsFlags {
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        [&self.base, &self.image_config, &self.facts].into_iter().flatten().map(PathBuf::as_path)
    }

    pub(super) fn is_given(&self) -> bool {
        self.files().next().is_some() || self.release.is_some()
    }

    /// An input without resources, with remarks on every file that cannot be used. The error is one
    /// of usage: a file that cannot be opened.
    pub(super) fn read_all(&self) -> Result<Input, Printout> {
        let mut known = Known::default();
        if let Some(file) = &self.facts {
            known.add_facts(open(file)?);
        }
        if let Some(file) = &self.image_config {
            let source = open(file)?;
            let name = source.name.clone();
            if let Some(image) = known.parse_file(source, image_config::parse) {
                match image_config::describe(image, self.base.is_none()) {
                    Ok(found) => found.add_to(&mut known.facts.image),
                    Err(finding) => known.remark(name, finding),
                }
            }
        }
        if let Some(file) = &self.base {
            known.add_base(open(file)?);
        }
        if let Some(release) = &self.release {
            known.facts.image.release = Some(release.clone());
        }
        Ok(known.into_input())
    }
}

pub(super) fn release(text: &str) -> Result<String, String> {
    if llsd_plan::releases::is_known(text) {
        Ok(text.to_owned())
    } else {
        Err("known are llama-stack up to 0.7, for example 0.7.3, and OGX 1.0 to 1.5, for example \
             ogx-1.5.0"
            .to_owned())
    }
}
