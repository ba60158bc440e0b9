//! Carries out what was decided, in order: the first object before the Deployment that cannot be written stops
//! the rest.

use llsd_plan::live::LiveObject;
use llsd_plan::objects::ObjectKind;
use llsd_plan::resource::Resource;
use llsd_plan::rollout::{Action, Decision, Refused, WriteFailure};

use crate::world::{Guard, Held, How, World, Write};

/// What came of it.
pub enum Outcome {
    /// An object that no watch had shown: everything is decided again.
    Found(LiveObject),
    /// What could not be written, if anything, and whether that stopped the rest.
    Written { failure: Option<WriteFailure>, is_stopped: bool },
}

/// What is done about an object; nothing where it is left as it is.
pub fn of_decision(decision: Decision<'_>) -> Option<Write> {
    let Decision { object, action, beforehand } = decision;
    let how = match action {
        Action::Leave => return None,
        Action::Create => How::Create,
        Action::Update(live) | Action::Mark(live) | Action::Adopt(live) => How::Update(guard(live)),
        Action::Wait => How::Not(WriteFailure::is_going(&object)),
        Action::Refuse => How::Not(WriteFailure::not_ours(&object)),
    };
    Some(Write { object, how, beforehand })
}

/// The version counts where rules decide.
fn guard(live: &LiveObject) -> Guard {
    let version = live.kind.follows_rules().then_some(live.version);
    Guard { uid: live.uid.to_string(), version }
}

/// Writes what was decided.
pub fn write(world: &mut World, held: &Held) -> Outcome {
    let mut is_deployed = !held.writes.iter().any(|it| it.object.kind == ObjectKind::Deployment);
    let mut first = None;
    for write in &held.writes {
        match write_one(world, &held.resource, write) {
            Ok(Some(found)) => return Outcome::Found(found),
            Ok(None) => is_deployed |= write.object.kind == ObjectKind::Deployment,
            Err(failure) if is_deployed => drop(first.get_or_insert(failure)),
            Err(failure) => {
                return Outcome::Written { failure: Some(failure), is_stopped: true };
            }
        }
    }
    Outcome::Written { failure: first, is_stopped: false }
}

fn write_one(
    world: &mut World,
    resource: &Resource,
    write: &Write,
) -> Result<Option<LiveObject>, WriteFailure> {
    let object = &write.object;
    let guard = match &write.how {
        How::Not(failure) => return Err(failure.clone()),
        How::Update(guard) => guard,
        How::Create => {
            let Err(found) = world.create(object) else { return Ok(None) };
            let live = LiveObject::owned_by(object.kind, &found, resource);
            let live = live.ok_or_else(|| WriteFailure::not_ours(object))?;
            if object.kind.follows_rules() {
                return Ok(Some(live));
            }
            let again = Decision::for_object(resource, object.clone(), Some(&live));
            return match of_decision(again) {
                Some(again) => write_one(world, resource, &again),
                None => Ok(None),
            };
        }
    };
    // Another pass decides again.
    let conflict = |_| WriteFailure {
        object: object.to_string(),
        message: "is another one by now".to_owned(),
        refused: Refused::Unavailable,
    };
    world.update(write, guard).map(|()| None).map_err(conflict)
}
