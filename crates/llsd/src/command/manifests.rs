//! `llsd manifests`: all install files, as one stream, as files of a folder or as Helm charts. `llsd crd`: the
//! resource definition among them, to be piped into `kubectl apply --server-side -f -`.

use std::path::PathBuf;

use clap::Args;
use llsd_install::monitoring::monitoring;
use llsd_install::names::NAMESPACE;
use llsd_install::{File, Install, bundle, charts, files};
use llsd_plan::objects::DEFAULT_OPERATOR_IMAGE;
use llsd_registry::Reference;

use super::Printout;

/// Print the install files of the operator
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Print those of an operator that runs in this namespace and watches it alone
    #[arg(long, value_name = "NAMESPACE", conflicts_with = "output_dir")]
    namespaced: Option<String>,
    /// The operator's image
    #[arg(long, value_name = "REF", default_value = DEFAULT_OPERATOR_IMAGE, conflicts_with_all = ["output_dir", "charts_dir"])]
    image: Reference,
    /// Print a PodMonitor, alerts and a dashboard too, for the Prometheus Operator and Grafana
    #[arg(long, conflicts_with = "output_dir")]
    monitoring: bool,
    /// Write all files into this folder instead of printing the cluster-wide install
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
    /// Write the Helm charts into this folder
    #[arg(long, value_name = "DIR")]
    charts_dir: Option<PathBuf>,
    /// Write the bundle for the Operator Lifecycle Manager into this folder
    #[arg(long, value_name = "DIR")]
    bundle_dir: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Printout {
    let mut named = Vec::new();
    if let Some(folder) = &arguments.output_dir {
        named.extend(files().iter().map(|file| (folder.join(file.name), file.text())));
    }
    if let Some(folder) = &arguments.charts_dir {
        named.extend(charts().into_iter().map(|file| (folder.join(file.name), file.text)));
    }
    let image = arguments.image.to_string();
    let unpublished = warning(&image);
    if let Some(folder) = &arguments.bundle_dir {
        named.extend(bundle(&image).into_iter().map(|file| (folder.join(file.name), file.text)));
    }
    if !named.is_empty() {
        let mut printout = written(&named);
        printout.stderr.push_str(if arguments.bundle_dir.is_some() { &unpublished } else { "" });
        return printout;
    }
    let install = Install { image: &image, namespace: arguments.namespaced.as_deref() };
    let mut files = install.files();
    if arguments.monitoring {
        files.extend(monitoring(
            install.namespace.unwrap_or(NAMESPACE),
            install.namespace.is_none(),
        ));
    }
    let texts: Vec<String> = files.iter().map(File::text).collect();
    Printout { stderr: unpublished, ..Printout::fine(texts.join("---\n")) }
}

/// The name that stands in for an image of one's own leads nowhere.
fn warning(image: &str) -> String {
    if image != DEFAULT_OPERATOR_IMAGE {
        return String::new();
    }
    format!(
        "warning: there is no image {image}: no registry is published to; build and push one, and name it with --image\n"
    )
}

pub(super) fn run_crd() -> Printout {
    let crd = files().into_iter().find(|file| file.name == "crd.yaml");
    Printout::fine(crd.map(|file| file.text()).unwrap_or_default())
}

fn written(files: &[(PathBuf, String)]) -> Printout {
    let mut written = Vec::new();
    for (path, text) in files {
        let parent = path.parent().unwrap_or(path);
        if let Err(error) =
            std::fs::create_dir_all(parent).and_then(|()| std::fs::write(path, text))
        {
            return Printout::usage(&format!("{}: {error}", path.display()));
        }
        written.push(format!("{}\n", path.display()));
    }
    Printout::fine(written.concat())
}
