//! `llsd manifests`: all install files, as one stream or as files of a folder. `llsd crd`: the
//! resource definition among them, to be piped into `kubectl apply --server-side -f -`.

use std::path::{Path, PathBuf};

use clap::Args;
use llsd_install::{File, cluster_wide, files, namespaced};

use super::Printout;

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

pub(super) fn run(arguments: &Arguments) -> Printout {
    if let Some(folder) = &arguments.output_dir {
        return written(folder);
    }
    let files = arguments.namespaced.as_deref().map_or_else(cluster_wide, namespaced);
    let texts: Vec<String> = files.iter().map(File::text).collect();
    Printout::fine(texts.join("---\n"))
}

pub(super) fn run_crd() -> Printout {
    let crd = files().into_iter().find(|file| file.name == "crd.yaml");
    Printout::fine(crd.map(|file| file.text()).unwrap_or_default())
}

fn written(folder: &Path) -> Printout {
    let mut written = Vec::new();
    for file in files() {
        let path = folder.join(file.name);
        let parent = path.parent().unwrap_or(folder);
        if let Err(error) =
            std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, file.text()))
        {
            return Printout::usage(&format!("{}: {error}", path.display()));
        }
        written.push(format!("{}\n", path.display()));
    }
    Printout::fine(written.concat())
}
