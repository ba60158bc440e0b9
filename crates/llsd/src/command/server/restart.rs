//! `llsd restart` and `llsd refresh`: the same pods again, or the image's tag looked up again.

use llsd_plan::resource::REFRESH;

use crate::command::Printout;
use crate::command::cluster::{self, ResourceName};

pub(in crate::command) fn restart(resource: &ResourceName) -> Result<Printout, Printout> {
    cluster::run(&resource.place, async |cluster| {
        let name = &resource.name;
        cluster.resource(name).await?;
        cluster.restart(name).await?;
        Ok(cluster::under_way(name, &format!("{name} is restarted")))
    })
}

pub(in crate::command) fn refresh(resource: &ResourceName) -> Result<Printout, Printout> {
    let happens = format!("the image of {} is looked up", resource.name);
    cluster::run_annotate(resource, REFRESH, &happens)
}
