//! `llsd rollout approve`: applies what is held back, a few servers at a time, and
//! stops at the first that does not come back.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::time::Duration;

use clap::Args;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use llsd_plan::resource::APPROVE;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::progress::{Progress, holds_back, progress};
use crate::command::cluster::{self, Cluster, ClusterFlags, namespace_and_name};
use crate::command::cluster_error::ClusterError;
use crate::command::{Exit, Printout};

/// Between two looks at a server that is awaited.
const PAUSE: Duration = Duration::from_secs(1);

/// Apply what an upgrade of the operator holds back, or what waits for its turn
///
/// Sets the annotation llamastack.io/approve with your own rights, on a few resources at a time, and
/// waits for each server to come back. The first that does not stops the rest.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The resource
    #[arg(required_unless_present = "all")]
    name: Option<String>,

    /// All resources of the namespace for which something is held back
    #[arg(long, conflicts_with = "name")]
    all: bool,

    #[command(flatten)]
    place: ClusterFlags,

    /// With --all: of every namespace
    #[arg(short = 'A', long, requires = "all", conflicts_with = "namespace")]
    all_namespaces: bool,

    /// How many servers may be restarted at the same time
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    max_parallel: u16,

    /// How long to wait for one server, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1200)]
    timeout: u64,
}

/// What became of one resource; the error says why its server is not back.
type Ended = (String, Result<(), String>);

pub(super) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    cluster::run_speaking(&arguments.place, async |cluster| approve(arguments, &cluster).await)
}

async fn approve(arguments: &Arguments, cluster: &Cluster) -> Result<Printout, ClusterError> {
    let mut chosen = match &arguments.name {
        Some(name) => vec![cluster.resource(name).await?],
        None => cluster.all(arguments.all_namespaces).await?,
    };
    chosen.retain(holds_back);
    if chosen.is_empty() {
        return Ok(Printout::fine("nothing is held back\n".to_owned()));
    }
    let (total, patience) = (chosen.len(), Duration::from_secs(arguments.timeout));
    let mut rest = chosen.into_iter();
    let mut under_way = FuturesUnordered::new();
    let (mut back, mut failed) = (0, Vec::new());
    loop {
        while failed.is_empty() && under_way.len() < usize::from(arguments.max_parallel) {
            let Some(resource) = rest.next() else { break };
            under_way.push(one(cluster, resource, patience));
        }
        let Some((key, ended)) = under_way.next().await else { break };
        match ended {
            Ok(()) => {
                back += 1;
                say(&format!("{key} is back ({back} of {total})"));
            }
            Err(why) => {
                say(&format!("{key} is not back: {why}"));
                failed.push(format!("{key}: {why}\n"));
            }
        }
    }
    if failed.is_empty() {
        return Ok(Printout::fine(format!("{back} of {total} servers run as planned\n")));
    }
    let left: Vec<String> = rest.map(|resource| key(&resource)).collect();
    let mut stderr = format!("error: stopped, with {back} of {total} back\n{}", failed.concat());
    if !left.is_empty() {
        let _ = writeln!(stderr, "not approved: {}", left.join(", "));
    }
    Ok(Printout { stdout: String::new(), stderr, exit: Exit::Problems })
}

/// Approves one resource and waits for its server.
async fn one(cluster: &Cluster, resource: Value, patience: Duration) -> Ended {
    let key = key(&resource);
    say(&format!("{key} is approved"));
    let ended = roll(cluster, &resource, patience).await;
    (key, ended.map_err(|error| error.to_string()))
}

async fn roll(cluster: &Cluster, resource: &Value, patience: Duration) -> Result<(), ClusterError> {
    let [namespace, name] = namespace_and_name(resource);
    let value = cluster::now();
    cluster.annotate(namespace, name, APPROVE, &value).await?;
    let deployments: Api<Deployment> = Api::namespaced(cluster.client.clone(), namespace);
    let there = cluster.in_namespace(namespace);
    let begun = Instant::now();
    loop {
        let deployment = deployments.get_opt(name).await?;
        let deployment = serde_json::to_value(deployment).unwrap_or_default();
        let resource = there.resource(name).await?;
        match progress(&resource, &deployment, &value) {
            Progress::Back => return Ok(()),
            Progress::Failed(why) => return Err(why.into()),
            Progress::UnderWay(how) if begun.elapsed() > patience => {
                return Err(format!("not within {} s: {how}", patience.as_secs()).into());
            }
            Progress::UnderWay(_) => sleep(PAUSE).await,
        }
    }
}

fn key(resource: &Value) -> String {
    namespace_and_name(resource).join("/")
}

/// Written at once, because servers take minutes.
fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
