//! `llsd rollout status`: how far a change of inputs is that several servers share.

use clap::Args;
use llsd_plan::resource::{Key, Resource};
use llsd_plan::rollout::wave::{Member, Waiting};
use serde_json::Value;

use super::members;
use crate::command::cluster::{self, ClusterFlags, namespace_and_name};
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
        let members = members::of_cluster(&cluster, arguments.all_namespaces).await?;
        Ok(printout(&servers(&resources, &members)))
    })
}

/// Those that are changing first, then those that failed, then those that wait.
fn servers(resources: &[Value], members: &[(Key, Member)]) -> Vec<Server> {
    let members = members.iter().map(|(key, member)| server(key, member));
    let mut servers: Vec<Server> = members.chain(resources.iter().filter_map(waiting)).collect();
    servers.sort_by_cached_key(|Server { namespace, name, state, .. }| {
        let place = [CHANGING, FAILED, WAITING, STOPPED].iter().position(|known| known == state);
        (place, namespace.clone(), name.clone())
    });
    servers
}

fn server(key: &Key, member: &Member) -> Server {
    let inputs = member.wave.inputs.iter().map(|input| {
        let name = input.rsplit_once('=').map_or(input.as_str(), |(name, _)| name);
        // Those of a namespace's objects begin with it.
        name.strip_prefix(&format!("{}/", key.namespace)).unwrap_or(name).to_owned()
    });
    Server {
        state: if member.has_failed() { FAILED } else { CHANGING },
        inputs: inputs.collect::<Vec<_>>().join(", "),
        namespace: key.namespace.to_string(),
        name: key.name.to_string(),
    }
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
    use llsd_plan::rollout::wave::{MemberStage, Wave};
    use serde_json::json;

    use super::*;

    fn member(name: &str, stage: MemberStage) -> (Key, Member) {
        let inputs = ["ca-bundle=1", "team/secret:keys/token=2"].map(str::to_owned).to_vec();
        (Key::new("team", name), Member { wave: Wave { inputs, ..Wave::default() }, stage })
    }

    #[test]
    fn servers_that_take_part_are_listed_by_their_state() {
        let failed = MemberStage::Failed { is_down: false };
        let members = vec![member("b", failed), member("a", MemberStage::Changing)];
        let waits = json!({
            "metadata": {"name": "c", "namespace": "team"},
            "status": {"conditions": [{
                "type": "UpdatePending", "status": "True", "reason": "WaitingForTurn",
                "message": "Stopped: why",
            }]},
        });
        let rests = json!({"metadata": {"name": "done", "namespace": "team"}});
        let shown = printout(&servers(&[waits, rests], &members));
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
