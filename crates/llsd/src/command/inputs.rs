//! What `validate`, `render` and `explain` are given: resources, and with the flags of
//! [`FactsFlags`] what is known of the world around them.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use llsd_plan::facts::Facts;

use super::facts_flags::FactsFlags;
use crate::input::{Remark, Resource, Source, contents};

#[derive(Debug, Args)]
pub(super) struct Inputs {
    /// Files with resources in YAML or JSON; `-` is stdin
    #[arg(short = 'f', long = "filename", value_name = "FILE", required = true, num_args = 1..)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    facts: FactsFlags,
}

/// All that was read.
#[derive(Debug)]
pub(super) struct Given {
    /// The files in the order in which findings about them are printed.
    pub(super) files: Vec<String>,
    pub(super) resources: Vec<Resource>,
    /// On texts that are no resource, the files of the facts among them.
    pub(super) remarks: Vec<Remark>,
    /// Nothing where a file of the facts cannot be used; the remarks then say why.
    pub(super) facts: Option<Facts>,
}

impl Inputs {
    /// Reads everything before anything is judged, so that a mistyped file name is not lost among
    /// findings. The error is one of usage.
    pub(super) fn read(&self) -> Result<Given, String> {
        let named = self.files.iter().map(PathBuf::as_path).chain(self.facts.files());
        if named.filter(|file| *file == Path::new("-")).count() > 1 {
            return Err("`-` can be given once only".to_owned());
        }
        let sources: Vec<Source> =
            self.files.iter().map(|file| open(file)).collect::<Result<_, _>>()?;
        let read = self.facts.read()?;
        let mut given = Given {
            files: read.files,
            resources: Vec::new(),
            facts: Some(read.facts).filter(|_| read.remarks.is_empty()),
            remarks: read.remarks,
        };
        for source in &sources {
            let contents = contents(source);
            given.files.push(source.name.clone());
            given.resources.extend(contents.resources);
            given.remarks.extend(contents.remarks);
        }
        Ok(given)
    }
}

/// The file, or what is wrong with the command line.
pub(super) fn open(file: &Path) -> Result<Source, String> {
    Source::open(file).map_err(|error: io::Error| format!("{}: {error}", file.display()))
}
