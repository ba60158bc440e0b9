//! `llsd rollout status`: how far a change of inputs is that several servers share.

use clap::Args;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::ListParams;
use llsd_plan::live::LiveObject;
use llsd_plan::objects::{ObjectKind, labels};
use llsd_plan::resource::Resource;
use llsd_plan::rollout::wave::{Member, Waiting};
use serde_json::Value;

use crate::command::cluster::{self, Cluster, ClusterFlags, namespace_and_name};
use crate::command::cluster_error::ClusterError;
use crate::command::columns::{aligned, row};
use crate::command::{Exit, Printout};

/// Show how far a change of shared inputs is
///
/// Lists the servers that change because of an input that several servers share, such as a bundle of certificate
/// authorities, those that failed with it, and those that wait for their turn. Ends with 1 if one has failed.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    place: ClusterFlags,

    /// Of every namespace
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,
}

/// A server that takes part.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Server {
    namespace: String,
    name: String,
    state: &'static str,
    /// The inputs that have changed, where its Deployment says so.
    inputs: String,
}

const CHANGING: &str = "changing";
const FAILED: &str = "failed";
const WAITING: &str = "waiting";
/// Waits, and others have failed.
const STOPPED: &str = "stopped";

pub(super) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    cluster::run(&arguments.place, async |cluster| {
        let resources = cluster.all(arguments.all_namespaces).await?;
        let deployments = deployments(&cluster, arguments.all_namespaces).await?;
        Ok(printout(&servers(&resources, &deployments)))
    })
}

async fn deployments(cluster: &Cluster, everywhere: bool) -> Result<Vec<Value>, ClusterError> {
    let api: Api<Deployment> = if everywhere {
        Api::all(cluster.client.clone())
    } else {
        Api::namespaced(cluster.client.clone(), &cluster.namespace)
    };
    let ours = format!("{}={}", labels::MANAGED_BY, labels::OPERATOR);
    let listed = api.list(&ListParams::default().labels(&ours)).await?;
    let values = listed.items.into_iter().map(serde_json::to_value);
    Ok(values.filter_map(Result::ok).collect())
}

/// Those that are changing first, then those that failed, then those that wait.
fn servers(resources: &[Value], deployments: &[Value]) -> Vec<Server> {
    let members = deployments.iter().filter_map(member);
    let mut servers: Vec<Server> = members.chain(resources.iter().filter_map(waiting)).collect();
    servers.sort_by_cached_key(|Server { namespace, name, state, .. }| {
        let place = [CHANGING, FAILED, WAITING, STOPPED].iter().position(|known| known == state);
        (place, namespace.clone(), name.clone())
    });
    servers
}

fn member(deployment: &Value) -> Option<Server> {
    let (key, live) = LiveObject::parse(ObjectKind::Deployment, deployment)?;
    let member = Member::from_deployment(live.deployment()?)?;
    let inputs = member.wave.inputs.iter().map(|input| {
        let name = input.rsplit_once('=').map_or(input.as_str(), |(name, _)| name);
        // Those of a namespace's objects begin with it.
        name.strip_prefix(&format!("{}/", key.namespace)).unwrap_or(name).to_owned()
    });
    Some(Server {
        state: if member.has_failed { FAILED } else { CHANGING },
        inputs: inputs.collect::<Vec<_>>().join(", "),
        namespace: key.namespace.to_string(),
        name: key.name.to_string(),
    })
}

fn waiting(resource: &Value) -> Option<Server> {
    let resource_of_cluster = Resource::parse(resource);
    let is_stopped = resource_of_cluster.turn_awaited()?.starts_with(Waiting::STOPPED);
    let state = if is_stopped { STOPPED } else { WAITING };
    let [namespace, name] = namespace_and_name(resource).map(str::to_owned);
    Some(Server { namespace, name, state, inputs: String::new() })
}

fn printout(servers: &[Server]) -> Printout {
    if servers.is_empty() {
        return Printout::fine("no change of shared inputs is under way\n".to_owned());
    }
    let count = |state: &str| servers.iter().filter(|server| server.state == state).count();
    let mut rows = vec![row(["NAMESPACE", "NAME", "STATE", "INPUT"])];
    rows.extend(servers.iter().map(|Server { namespace, name, state, inputs }| {
        row([namespace.as_str(), name.as_str(), state, inputs.as_str()])
    }));
    let [changing, failed, waiting, stopped] = [CHANGING, FAILED, WAITING, STOPPED].map(count);
    let waiting = waiting + stopped;
    let sum = format!("{changing} changing, {failed} failed, {waiting} waiting\n");
    let exit = if failed > 0 { Exit::Problems } else { Exit::Fine };
    Printout { stdout: aligned(&rows) + &sum, stderr: String::new(), exit }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deployment(name: &str, available: i32, wave: &Value) -> Value {
        json!({
            "metadata": {
                "name": name, "namespace": "team",
                "annotations": {labels::WAVE: wave.to_string()},
            },
            "spec": {
                "replicas": 1, "selector": {"matchLabels": {labels::INSTANCE: name}},
            },
            "status": {
                "replicas": 1, "updatedReplicas": 1, "availableReplicas": available,
                "conditions": [{
                    "type": "Progressing", "status": if name == "b" { "False" } else { "True" },
                    "reason": "ProgressDeadlineExceeded", "message": "late",
                }],
            },
        })
    }

    #[test]
    fn servers_that_take_part_are_listed_by_their_state() {
        let wave = json!({"inputs": ["ca-bundle=1", "team/secret:keys/token=2"]});
        let deployments =
            [deployment("b", 0, &wave), deployment("a", 0, &wave), deployment("done", 1, &wave)];
        let waits = json!({
            "metadata": {"name": "c", "namespace": "team"},
            "status": {"conditions": [{
                "type": "UpdatePending", "status": "True", "reason": "WaitingForTurn",
                "message": "Stopped: why",
            }]},
        });
        let rests = json!({"metadata": {"name": "done", "namespace": "team"}});
        let shown = printout(&servers(&[waits, rests], &deployments));
        let expected = "\
NAMESPACE  NAME  STATE     INPUT
team       a     changing  ca-bundle, secret:keys/token
team       b     failed    ca-bundle, secret:keys/token
team       c     stopped
1 changing, 1 failed, 1 waiting
";
        assert_eq!((shown.stdout.as_str(), shown.exit), (expected, Exit::Problems));
        let none = printout(&servers(&[], &[]));
        assert_eq!(none.stdout, "no change of shared inputs is under way\n");
    }
}
