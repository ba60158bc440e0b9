//! `llsd rollout retry`: what was refused, rolled back or given up is tried again, of one resource or of all.

use std::fmt::Write as _;

use clap::Args;
use llsd_plan::resource::{Key, RETRY};
use llsd_plan::rollout::wave::Member;
use serde_json::Value;

use super::members;
use super::progress::has_failed;
use crate::command::cluster::{self, Cluster, ClusterFlags};
use crate::command::cluster_error::ClusterError;
use crate::command::{Exit, Printout};

/// Try again what was rolled back, or refused before it was rolled out
///
/// Sets the annotation llamastack.io/retry of the resource with your own rights. With --all, of every
/// resource whose last change was refused by its preflight, was rolled back, or is stuck, and of every server
/// that failed with a change of shared inputs; those that somebody rolled back by hand stay as they are. A change
/// of shared inputs that stopped at these servers continues.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The resource
    #[arg(required_unless_present = "all")]
    name: Option<String>,

    /// All resources of the namespace whose last change was refused or rolled back, or is stuck
    #[arg(long, conflicts_with = "name")]
    all: bool,

    #[command(flatten)]
    place: ClusterFlags,

    /// With --all: of every namespace
    #[arg(short = 'A', long, requires = "all", conflicts_with = "namespace")]
    all_namespaces: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    cluster::run(&arguments.place, async |cluster| match &arguments.name {
        Some(name) => one(&cluster, name).await,
        None => all(&cluster, arguments.all_namespaces).await,
    })
}

async fn one(cluster: &Cluster, name: &str) -> Result<Printout, ClusterError> {
    cluster.resource(name).await?;
    cluster.annotate(&cluster.namespace, name, RETRY, &cluster::now()).await?;
    Ok(cluster::under_way(name, &format!("{name} is tried again")))
}

/// One that may not be annotated keeps no other from being tried.
async fn all(cluster: &Cluster, everywhere: bool) -> Result<Printout, ClusterError> {
    let mut failed = cluster.all(everywhere).await?;
    let mut stdout = String::new();
    let members = match members::of_cluster(cluster, everywhere).await {
        Ok(members) => members,
        // Whoever may not read Deployments tries again what the resources tell.
        Err(why) => {
            let _ = writeln!(stdout, "not known which servers failed with shared inputs: {why}");
            Vec::new()
        }
    };
    failed.retain(|resource| has_failed(resource) || has_failed_in_wave(resource, &members));
    if failed.is_empty() {
        stdout.push_str("nothing was refused, rolled back or is stuck\n");
        return Ok(Printout::fine(stdout));
    }
    let mut stderr = String::new();
    for resource in &failed {
        let [namespace, name] = cluster::namespace_and_name(resource);
        match cluster.annotate(namespace, name, RETRY, &cluster::now()).await {
            Ok(()) => drop(writeln!(stdout, "{namespace}/{name} is tried again")),
            Err(why) => drop(writeln!(stderr, "error: {namespace}/{name}: {why}")),
        }
    }
    let exit = if stderr.is_empty() { Exit::Fine } else { Exit::Unavailable };
    Ok(Printout { stdout, stderr, exit })
}

/// Whether a server failed with a change of shared inputs.
fn has_failed_in_wave(resource: &Value, members: &[(Key, Member)]) -> bool {
    let [namespace, name] = cluster::namespace_and_name(resource);
    members.iter().any(|(key, member)| {
        *key.namespace == *namespace && *key.name == *name && member.has_failed()
    })
}

#[cfg(test)]
mod tests {
    use llsd_plan::rollout::wave::{MemberStage, Wave};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_server_that_failed_with_a_shared_change_is_tried_again_whatever_its_conditions_say() {
        let member =
            |name: &str, stage| (Key::new("team", name), Member { wave: Wave::default(), stage });
        let members = [
            member("a", MemberStage::Failed { is_down: false }),
            member("b", MemberStage::Changing),
        ];
        let has_failed = |namespace: &str, name: &str| {
            let resource = json!({"metadata": {"name": name, "namespace": namespace}});
            has_failed_in_wave(&resource, &members)
        };
        assert!(has_failed("team", "a"));
        assert!(!has_failed("team", "b") && !has_failed("other", "a"));
    }
}
