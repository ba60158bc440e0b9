//! `llsd report`: a zip for a bug report, with what the cluster knows of one resource and without secrets.

mod clean;
mod gather;
mod object;
mod telling;
mod values;
mod zip;

use std::io;
use std::path::PathBuf;

use clap::Args;

use super::runtime::runtime;
use super::{Exit, Printout, cluster, version, waiting};
use gather::{ReportFiles, gather};

/// Write a zip for a bug report: objects, events and logs of one resource, without secrets
///
/// Reads the cluster of the current kubeconfig as yourself; what you may not read is said in
/// remarks.txt. Values of Secrets are read only to leave them out wherever they turn up, and so is
/// what was written in clear under a name such as password or token, or as a credential in an address.
/// Logs are left out where a Secret that the pods read cannot be read, unless you ask for them with
/// --logs. Look into it before you send it.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The resource
    #[arg(value_name = "NAME")]
    name: String,

    /// Its namespace; without it the kubeconfig's
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,

    /// The file to write; without it llsd-report-NAME.zip
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Take in logs also where Secrets cannot be read, so that their values may stand in them
    #[arg(long)]
    logs: bool,
}

pub(super) fn run(arguments: &Arguments) -> Printout {
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(message) => return Printout::usage(&message),
    };
    let work = waiting::for_work("reading objects and logs", Box::pin(gathered(arguments)));
    match runtime.block_on(work) {
        Ok(gathered) => written(arguments, gathered),
        Err(message) => Printout::unavailable(&message),
    }
}

async fn gathered(arguments: &Arguments) -> Result<ReportFiles, String> {
    let client = cluster::connect().await?.client;
    let namespace = arguments.namespace.as_deref().unwrap_or(client.default_namespace());
    let cluster = match client.apiserver_version().await {
        Ok(version) => version.git_version,
        Err(error) => return Err(error.to_string()),
    };
    let mut gathered = Box::pin(gather(&client, namespace, &arguments.name, arguments.logs))
        .await
        .map_err(|error| format!("{namespace}/{}: {error}", arguments.name))?;
    let versions = format!("{}cluster:     {cluster}\n", version::text());
    gathered.files.insert(0, ("versions.txt".to_owned(), versions));
    Ok(gathered)
}

fn written(arguments: &Arguments, mut gathered: ReportFiles) -> Printout {
    gathered.files.push(("remarks.txt".to_owned(), gathered.remarks.clone()));
    let values = &gathered.values;
    let files: Vec<(String, String)> =
        gathered.files.iter().map(|(name, text)| (name.clone(), values.left_out(text))).collect();
    let path = arguments
        .output
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("llsd-report-{}.zip", arguments.name)));
    let archive = zip::archive(&files).map_err(io::Error::from);
    if let Err(error) = archive.and_then(|archive| std::fs::write(&path, archive)) {
        return Printout::usage(&format!("{}: {error}", path.display()));
    }
    let stdout = format!("{}: {} files\n", path.display(), files.len());
    let remarks = gathered.remarks.lines();
    let warnings: Vec<String> =
        remarks.map(|line| format!("warning: {}\n", values.left_out(line))).collect();
    Printout { stdout, stderr: warnings.concat(), exit: Exit::Fine }
}
