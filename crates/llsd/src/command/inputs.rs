//! What `validate`, `render` and `explain` are given: resources, and with the flags of
//! [`FactsFlags`] what is known of the world around them.

use std::path::PathBuf;

use clap::Args;
use llsd_offline::Input;

use super::Printout;
use super::facts_flags::FactsFlags;
use super::files::open_all;

#[derive(Debug, Args)]
pub(super) struct Inputs {
    /// Files with resources in YAML or JSON; `-` is stdin
    #[arg(short = 'f', long = "filename", value_name = "FILE", required = true, num_args = 1..)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    facts: FactsFlags,
}

impl Inputs {
    /// Reads everything before anything is judged, so that a mistyped file name is not lost among
    /// findings. The error is one of usage.
    pub(super) fn read(&self) -> Result<Input, Printout> {
        let sources = open_all(&self.files, self.facts.files())?;
        let mut input = self.facts.read()?;
        for source in &sources {
            input.add(source);
        }
        Ok(input)
    }
}
