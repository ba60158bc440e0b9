//! `llsd restart` and `llsd refresh`: the same pods again, or the image's tag looked up again.

use clap::Args;
use llsd_plan::resource::REFRESH;

use crate::command::Printout;
use crate::command::cluster::{self, NamespaceFlag};

/// Restart a server's pods, with nothing changed
///
/// Does what `kubectl rollout restart` does to the server's Deployment: you need to be allowed to patch it.
#[derive(Debug, Args)]
pub(in crate::command) struct Restart {
    /// The resource
    name: String,

    #[command(flatten)]
    place: NamespaceFlag,
}

/// Look the tag of a server's image up again, and run what it names now
///
/// Sets the annotation llamastack.io/refresh of the resource. A tag that names the same image as before
/// changes nothing.
#[derive(Debug, Args)]
pub(in crate::command) struct Refresh {
    /// The resource
    name: String,

    #[command(flatten)]
    place: NamespaceFlag,
}

pub(in crate::command) fn restart(Restart { name, place }: &Restart) -> Result<Printout, Printout> {
    cluster::run(async |cluster| {
        let cluster = cluster.at(place);
        cluster.resource(name).await?;
        cluster.restart(name).await?;
        Ok(Printout::fine(format!("{name} is restarted; `llsd status {name}` says how it goes\n")))
    })
}

pub(in crate::command) fn refresh(Refresh { name, place }: &Refresh) -> Result<Printout, Printout> {
    cluster::run(async |cluster| {
        let cluster = cluster.at(place);
        cluster.resource(name).await?;
        cluster.annotate(&cluster.namespace, name, REFRESH, &cluster::now()).await?;
        let say =
            format!("the image of {name} is looked up; `llsd status {name}` says how it goes\n");
        Ok(Printout::fine(say))
    })
}
