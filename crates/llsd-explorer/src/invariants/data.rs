//! What becomes of data and of everything else when a resource is deleted.

use llsd_plan::objects::ObjectKind;

use super::watcher::Watcher;
use crate::wish::Volume;
use crate::world::World;

/// A claim goes only with a resource that says so; what it says counts once the operator had a look at it.
pub(super) fn kept_claims_stay(watcher: &mut Watcher, world: &World) -> Result<(), String> {
    let has_claim = world.object(ObjectKind::VolumeClaim).is_some();
    let is_lost = watcher.had_claim && !has_claim;
    watcher.had_claim = has_claim;
    if is_lost && world.volume_seen == Some(Volume::Retain) {
        return Err("a claim that was to be kept went with its resource".to_owned());
    }
    Ok(())
}

/// Of a resource that is gone nothing is left but a claim that is nobody's.
pub(super) fn nothing_is_left(world: &World) -> Result<(), String> {
    let left = world.objects.iter().find(|stored| stored.live.kind != ObjectKind::VolumeClaim);
    if let Some(left) = left {
        return Err(format!("{} is left of a resource that is gone", left.live.name));
    }
    if world.object(ObjectKind::VolumeClaim).is_some() && world.volume_seen == Some(Volume::Delete)
    {
        return Err("a claim stays that was to go with its resource".to_owned());
    }
    Ok(())
}
