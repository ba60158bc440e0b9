//! `llsd logs`: what a server's pods wrote.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use clap::Args;
use futures::{AsyncBufReadExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, LogParams};
use kube::{Api, ResourceExt};
use llsd_plan::objects::labels;

use crate::command::Printout;
use crate::command::cluster::{self, ResourceName};
use crate::command::cluster_error::ClusterError;
use crate::command::printable::printable;

/// Show what a server's pods wrote
#[derive(Debug, Args)]
pub(in crate::command) struct Arguments {
    #[command(flatten)]
    resource: ResourceName,

    /// How many lines of each pod
    #[arg(long, value_name = "LINES", default_value_t = 200)]
    tail: i64,

    /// Of the container that ended before the one that runs
    #[arg(short, long)]
    previous: bool,

    /// Go on with what the newest pod writes
    #[arg(short, long, conflicts_with = "previous")]
    follow: bool,
}

pub(in crate::command) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    cluster::run_speaking(&arguments.resource.place, async |cluster| {
        cluster.resource(&arguments.resource.name).await?;
        let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
        let own = ListParams::default().labels(&labels::selector_text(&arguments.resource.name));
        let mut listed = pods.list(&own).await?.items;
        listed.sort_by_key(|pod| std::cmp::Reverse(pod.creation_timestamp().map(|time| time.0)));
        if listed.is_empty() {
            return Ok(Printout::fine("no pod of the server is there\n".to_owned()));
        }
        if arguments.follow {
            let pods = Api::namespaced(cluster.listener()?, &cluster.namespace);
            return follow(&pods, &listed[0], arguments).await;
        }
        let mut all = String::new();
        for pod in &listed {
            let name = pod.name_any();
            if listed.len() > 1 {
                let _ = writeln!(all, "==> {name} <==");
            }
            match pods.logs(&name, &parameters(pod, arguments)).await {
                Ok(log) => all.push_str(&log),
                // The other pods have something to say, too.
                Err(error) => drop(writeln!(all, "({})", ClusterError::from(error))),
            }
        }
        Ok(Printout::fine(all))
    })
}

async fn follow(
    pods: &Api<Pod>,
    pod: &Pod,
    arguments: &Arguments,
) -> Result<Printout, ClusterError> {
    let stream = pods.log_stream(&pod.name_any(), &parameters(pod, arguments)).await;
    let mut lines = stream?.lines();
    while let Some(line) = lines.try_next().await.map_err(|error| error.to_string())? {
        if writeln!(io::stdout().lock(), "{}", printable(&line, &[])).is_err() {
            break;
        }
    }
    Ok(Printout::fine(String::new()))
}

/// Of the server's container: a sidecar stands among the init containers.
fn parameters(pod: &Pod, arguments: &Arguments) -> LogParams {
    let server = pod.spec.as_ref().and_then(|spec| spec.containers.first());
    LogParams {
        container: server.map(|container| container.name.clone()),
        tail_lines: Some(arguments.tail),
        previous: arguments.previous,
        follow: arguments.follow,
        ..LogParams::default()
    }
}
