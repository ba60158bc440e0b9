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

use super::cluster::{self, Cluster, ClusterFlags};
use super::cluster_error::ClusterError;
use super::{Exit, Printout, version};
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

    #[command(flatten)]
    place: ClusterFlags,

    /// The file to write; without it llsd-report-NAME.zip
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Take in logs also where Secrets cannot be read, so that their values may stand in them
    #[arg(long)]
    logs: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    let gathered = cluster::run(&arguments.place, async |cluster| {
        Box::pin(gathered(arguments, &cluster)).await
    });
    Ok(written(arguments, gathered?))
}

async fn gathered(arguments: &Arguments, cluster: &Cluster) -> Result<ReportFiles, ClusterError> {
    let (client, name) = (&cluster.client, &arguments.name);
    let version = client.apiserver_version().await?.git_version;
    // Says where it was looked for, if it is not there.
    cluster.resource(name).await?;
    let gathered = gather(client, &cluster.namespace, name, arguments.logs);
    let mut gathered = Box::pin(gathered).await?;
    let versions = format!("{}cluster:     {version}\n", version::text());
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
