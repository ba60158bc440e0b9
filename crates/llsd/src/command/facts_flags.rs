//! The flags that say offline what the operator would ask a registry and a cluster for. The most
//! specific one wins: `--base` and `--release`, then `--image-config`, then `--facts`.

use std::path::{Path, PathBuf};

use clap::Args;
use llsd_offline::{Finding, Input, Remark, Source, base, facts};
use llsd_plan::facts::Facts;

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
    pub(super) fn read(&self) -> Result<Input, Printout> {
        let mut read = Read::default();
        if let Some(file) = &self.facts
            && let Some(facts) = read.file(file, |_, text| facts(text))?
        {
            read.facts = facts;
        }
        if let Some(file) = &self.image_config
            && let Some(image) = read.file(file, image_config::read)?
        {
            let source = read.files.last().cloned().unwrap_or_default();
            let described = image_config::describe(image, self.base.is_none());
            match described {
                Ok(found) => found.add_to(&mut read.facts.image),
                Err(finding) => read.remark(source, finding),
            }
        }
        if let Some(file) = &self.base
            && let Some(base) = read.file(file, base)?
        {
            read.facts.image.base = Some(base);
        }
        if let Some(release) = &self.release {
            read.facts.image.release = Some(release.clone());
        }
        let Read { files, facts, remarks } = read;
        let facts = Some(facts).filter(|_| remarks.is_empty());
        Ok(Input { files, resources: Vec::new(), remarks, facts })
    }
}

#[derive(Debug, Default)]
struct Read {
    files: Vec<String>,
    facts: Facts,
    remarks: Vec<Remark>,
}

impl Read {
    /// What the file holds, or nothing and a remark.
    fn file<T>(
        &mut self,
        path: &Path,
        reader: impl Fn(&str, &str) -> Result<T, Finding>,
    ) -> Result<Option<T>, Printout> {
        let Source { name, text } = open(path)?;
        self.files.push(name.clone());
        let text = text.map_err(|fault| Finding::of_text(&fault));
        let content = text.and_then(|text| reader(&name, &text));
        Ok(content.map_err(|finding| self.remark(name, finding)).ok())
    }

    fn remark(&mut self, file: String, finding: Finding) {
        let remark = Remark { file, document: None, problems: vec![finding], warnings: Vec::new() };
        self.remarks.push(remark);
    }
}

fn release(text: &str) -> Result<String, String> {
    if llsd_plan::releases::is_known(text) {
        Ok(text.to_owned())
    } else {
        Err("known are llama-stack up to 0.7, for example 0.7.3, and OGX 1.0 to 1.5, for example \
             ogx-1.5.0"
            .to_owned())
    }
}
