//! Eight digits of a hash can meet another configuration's. The whole hash of every generated ConfigMap
//! is known, so a name that is taken shows before anything is written.

use super::planning::{Plan, Planning, plan};
use crate::facts::{ConfigMapFacts, Facts};
use crate::live::{Detail, LiveObject};
use crate::objects::{ObjectKind, labels};
use crate::resource::Resource;

/// Plans a resource beside the objects that it has already. A name that is taken is added to the
/// facts.
pub fn plan_beside(resource: &Resource, facts: &mut Facts, live: &[LiveObject]) -> Planning {
    let planning = plan(resource, facts);
    let Planning::Planned(planned) = &planning else { return planning };
    let Some(taken) = taken(planned, live) else { return planning };
    facts.config_maps.insert(taken, ConfigMapFacts::default());
    plan(resource, facts)
}

/// The planned ConfigMap's name, if one of another content has it.
fn taken(plan: &Plan, live: &[LiveObject]) -> Option<String> {
    let planned = &plan.objects.config_map.as_ref()?.metadata;
    let name = planned.name.as_deref()?;
    let hash = planned.annotations.as_ref()?.get(labels::CONFIG_HASH)?;
    let live = live.iter().find(|live| live.is_named(ObjectKind::ConfigMap, name))?;
    match &live.detail {
        Detail::Config { hash: Some(live), .. } if **live == **hash => None,
        _ => Some(name.to_owned()),
    }
}
