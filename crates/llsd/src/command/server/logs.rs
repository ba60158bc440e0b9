//! `llsd logs`: what a server's pods wrote.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use clap::Args;
use futures::{AsyncBufReadExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, LogParams};
use kube::{Api, ResourceExt};
use llsd_plan::objects::labels;

use crate::command::cluster::{self, ResourceName};
use crate::command::cluster_error::ClusterError;
use crate::command::printable::printable;
use crate::command::{Exit, Printout};

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

    /// Keep printing what the newest pod writes
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
        let mut logs = Vec::new();
        for pod in &listed {
            let name = pod.name_any();
            let log = pods.logs(&name, &parameters(pod, arguments)).await;
            logs.push((name, log.map_err(ClusterError::from)));
        }
        Ok(printout(&logs))
    })
}

/// The logs that could be read, each under its pod's name, and on stderr why the others could not.
fn printout(logs: &[(String, Result<String, ClusterError>)]) -> Printout {
    let mut done = Printout::fine(String::new());
    for (pod, log) in logs {
        match log {
            Ok(log) => {
                if logs.len() > 1 {
                    let _ = writeln!(done.stdout, "==> {pod} <==");
                }
                done.stdout.push_str(log);
            }
            // The other pods have something to say, too.
            Err(error) => done.stderr.push_str(&error.about(&format!("pod {pod}"))),
        }
    }
    if logs.iter().all(|(_, log)| log.is_err()) {
        done.exit = Exit::Unavailable;
    }
    done
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

#[cfg(test)]
mod tests {
    use super::*;

    fn refused() -> Result<String, ClusterError> {
        Err(ClusterError::Other("no such container".to_owned()))
    }

    #[test]
    fn why_a_log_cannot_be_read_is_no_part_of_the_logs() {
        let written = || Ok("hello\n".to_owned());
        let one = printout(&[("a".to_owned(), written()), ("b".to_owned(), refused())]);
        assert_eq!((one.exit, one.stdout.as_str()), (Exit::Fine, "==> a <==\nhello\n"));
        assert_eq!(one.stderr, "error: pod b: no such container\n");
        let none = printout(&[("a".to_owned(), refused()), ("b".to_owned(), refused())]);
        assert_eq!((none.exit, none.stdout.as_str()), (Exit::Unavailable, ""));
        assert_eq!(none.stderr.matches("error: pod ").count(), 2);
        assert_eq!(printout(&[("a".to_owned(), written())]), Printout::fine("hello\n".to_owned()));
    }
}
