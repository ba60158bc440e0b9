//! `llsd manifests`: all install files, as one stream or as files of a folder.

use std::path::PathBuf;

use clap::Args;

use super::Outcome;
use crate::manifests::{File, files};

/// Print the install files of the operator
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Write one file each into this folder instead of printing them all
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let Some(folder) = &arguments.output_dir else {
        let texts: Vec<String> = files().iter().map(File::text).collect();
        return Outcome::fine(texts.join("---\n"));
    };
    let mut written = Vec::new();
    for file in files() {
        let path = folder.join(file.name);
        if let Err(error) = std::fs::write(&path, file.text()) {
            return Outcome::usage(&format!("{}: {error}", path.display()));
        }
        written.push(format!("{}\n", path.display()));
    }
    Outcome::fine(written.concat())
}
