//! `llsd rollback`: back to a state of before, until the spec changes.

use clap::Args;
use llsd_plan::resource::ROLLBACK_TO;
use llsd_plan::rollout::OPEN;

use super::states::{ServerState, of_server};
use crate::command::cluster::{self, ResourceName};
use crate::command::{Exit, Printout};

/// Go back to an earlier state of a server
///
/// Sets the annotation llamastack.io/rollback-to of the resource. The resource stays as it is, and the
/// next change of its spec is applied as always. Values of Secrets and data are not restored.
#[derive(Debug, Args)]
pub(in crate::command) struct Arguments {
    #[command(flatten)]
    resource: ResourceName,

    /// The state, as `llsd history` names it; by default the one before
    #[arg(long, value_name = "HASH")]
    to: Option<String>,

    /// Allow a state that answers all clients, although the resource asks for access
    #[arg(long)]
    open: bool,
}

pub(in crate::command) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    cluster::run(&arguments.resource.place, async |cluster| {
        let name = &arguments.resource.name;
        cluster.resource(name).await?;
        let states = of_server(&cluster, name).await?;
        let hash = match chosen(&states, arguments.to.as_deref()) {
            Ok(hash) => hash,
            Err(why) => {
                let stderr = format!("error: {why}\n");
                return Ok(Printout { stdout: String::new(), stderr, exit: Exit::Problems });
            }
        };
        // With the time, so that the same state can be asked for again.
        let may_open = if arguments.open { format!("{OPEN} ") } else { String::new() };
        let value = format!("{hash} {may_open}{}", cluster::now());
        cluster.annotate(&cluster.namespace, name, ROLLBACK_TO, &value).await?;
        Ok(cluster::under_way(name, &format!("{name} goes back to {hash}")))
    })
}

/// The state to go back to.
fn chosen<'a>(states: &'a [ServerState], named: Option<&str>) -> Result<&'a str, String> {
    let mut earlier = states.iter().skip(1).map(|state| state.hash.as_str());
    let Some(named) = named else {
        return earlier.next().ok_or_else(|| "no earlier state is kept".to_owned());
    };
    if states.first().is_some_and(|state| state.hash == named) {
        return Err(format!("{named} is what runs"));
    }
    let known = earlier.clone().collect::<Vec<_>>().join(", ");
    earlier
        .find(|hash| *hash == named)
        .ok_or_else(|| format!("no state {named} is kept; kept are: {known}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_before_is_meant_unless_another_is_named() {
        let states = ["now", "before", "long-ago"].map(|hash| ServerState {
            hash: hash.into(),
            revision: 1,
            created: String::new(),
            pods: 0,
            ready: 0,
            image: String::new(),
            config: None,
            notes: Vec::new(),
        });
        assert_eq!(chosen(&states, None), Ok("before"));
        assert_eq!(chosen(&states, Some("long-ago")), Ok("long-ago"));
        assert!(chosen(&states, Some("now")).is_err());
        let unknown = chosen(&states, Some("never")).unwrap_err();
        assert_eq!(unknown, "no state never is kept; kept are: before, long-ago");
        assert!(chosen(&states[..1], None).is_err());
    }
}
