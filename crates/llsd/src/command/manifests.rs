//! `llsd manifests`: all install files, as one stream or as files of a folder.

use std::path::{Path, PathBuf};

use clap::Args;

use super::Output;
use crate::manifests::{File, cluster_wide, files, namespaced};

/// Print the install files of the operator
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Print those of an operator that runs in this namespace and watches it alone
    #[arg(long, value_name = "NAMESPACE", conflicts_with = "output_dir")]
    namespaced: Option<String>,
    /// Write all files into this folder instead of printing the cluster-wide install
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Output {
    if let Some(folder) = &arguments.output_dir {
        return written(folder);
    }
    let files = arguments.namespaced.as_deref().map_or_else(cluster_wide, namespaced);
    let texts: Vec<String> = files.iter().map(File::text).collect();
    Output::fine(texts.join("---\n"))
}

fn written(folder: &Path) -> Output {
    let mut written = Vec::new();
    for file in files() {
        let path = folder.join(file.name);
        let parent = path.parent().unwrap_or(folder);
        if let Err(error) =
            std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, file.text()))
        {
            return Output::usage(&format!("{}: {error}", path.display()));
        }
        written.push(format!("{}\n", path.display()));
    }
    Output::fine(written.concat())
}
