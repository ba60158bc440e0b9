//! `llsd history`: the states of a server that it can go back to.

use clap::Args;
use serde_json::Value;

use super::states::{ServerState, of_server};
use crate::command::Printout;
use crate::command::cluster::{self, ResourceName};
use crate::command::columns::{aligned, row};
use crate::command::format::OutputFormat;

/// List the states of a server that are kept
///
/// The first one runs. `llsd rollback NAME --to HASH` goes back to one of the others.
#[derive(Debug, Args)]
pub(in crate::command) struct Arguments {
    #[command(flatten)]
    resource: ResourceName,

    /// How to print it
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: OutputFormat,
}

pub(in crate::command) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    cluster::run(&arguments.resource.place, async |cluster| {
        cluster.resource(&arguments.resource.name).await?;
        let states = of_server(&cluster, &arguments.resource.name).await?;
        let found: Value = states.iter().map(ServerState::to_json).collect();
        let lines = || {
            if states.is_empty() {
                "no state is kept: the server was never started\n".to_owned()
            } else {
                table(&states)
            }
        };
        Ok(Printout::fine(arguments.output.print(&found, lines)))
    })
}

fn table(states: &[ServerState]) -> String {
    let mut rows = vec![row(["HASH", "SINCE", "PODS", "IMAGE", "CONFIGURATION", ""])];
    rows.extend(states.iter().map(|state| {
        vec![
            state.hash.clone(),
            state.created.clone(),
            state.pods.to_string(),
            state.image.clone(),
            state.config.clone().unwrap_or_else(|| "of the image".to_owned()),
            state.notes.join(", "),
        ]
    }));
    aligned(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other() {
        let state = ServerState {
            hash: "5d4f8b".into(),
            revision: 2,
            created: "2026-11-16T10:00:00Z".into(),
            pods: 1,
            ready: 1,
            image: "r/a:1".into(),
            config: None,
            notes: vec!["runs", "last good"],
        };
        let told = table(&[state]);
        let expected = "\
HASH    SINCE                 PODS  IMAGE  CONFIGURATION
5d4f8b  2026-11-16T10:00:00Z  1     r/a:1  of the image   runs, last good
";
        assert_eq!(told, expected);
    }
}
