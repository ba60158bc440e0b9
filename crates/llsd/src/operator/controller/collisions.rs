//! Eight digits of a hash can meet another configuration's. The cache knows the whole hash of every
//! generated ConfigMap, so a name that is taken shows before anything is written.

use llsd_plan::objects::labels;
use llsd_plan::plan::Plan;

use super::cache::{Child, Detail};
use llsd_plan::objects::ObjectKind;

/// The planned ConfigMap's name, if one of another content has it.
pub fn taken(plan: &Plan, children: &[Child]) -> Option<String> {
    let planned = &plan.objects.config_map.as_ref()?.metadata;
    let name = planned.name.as_deref()?;
    let hash = planned.annotations.as_ref()?.get(labels::CONFIG_HASH)?;
    let live = children.iter().find(|child| child.is_named(ObjectKind::ConfigMap, name))?;
    match &live.detail {
        Detail::Config { hash: Some(live) } if **live == **hash => None,
        _ => Some(name.to_owned()),
    }
}
