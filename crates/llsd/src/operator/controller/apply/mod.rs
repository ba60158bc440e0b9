//! Carries out what was decided about each planned object, in order. The first that cannot be written
//! stops the rest, so a Deployment never refers to what is not there.

mod writer;

use llsd_plan::live::LiveObject;
use llsd_plan::objects::{self, ObjectKind, PlannedObject};
use llsd_plan::resource::Resource;
use llsd_plan::rollout::{self, Action, Beforehand, Decision, Rollout, Running, WriteFailure};
use llsd_plan::status::Applied;

use super::context::Context;
use writer::{Creation, Writer};

/// What the cluster holds of the planned objects: what the watches have shown, and what they cannot
/// show. Secrets are not watched, so the one that is planned is read each time; and where a Deployment
/// keeps an earlier operator's template, the whole of it is compared with the planned one.
pub async fn running(
    context: &Context,
    resource: &Resource,
    planned: &[PlannedObject],
    live: Vec<LiveObject>,
) -> Result<Running, WriteFailure> {
    let writer = Writer::new(context, resource);
    let mut running = Running { objects: live, ..Running::default() };
    for object in planned {
        match object.kind {
            ObjectKind::Secret => {
                let Some(found) = writer.read(object.kind, &object.name).await? else { continue };
                match LiveObject::owned_by(object.kind, &found, resource) {
                    Some(own) => running.objects.push(own),
                    None => running.foreign.push((object.kind, object.name.clone())),
                }
            }
            ObjectKind::Deployment => {
                let live = running.counterpart(object);
                if rollout::keeps_template(resource, object, live) {
                    running.deployment = writer.read(object.kind, &object.name).await?;
                }
            }
            _ => {}
        }
    }
    Ok(running)
}

/// Carries out a rollout.
pub async fn apply(
    context: &Context,
    resource: &Resource,
    rollout: &Rollout<'_>,
) -> Result<Applied, WriteFailure> {
    let (waiting, warnings) = (rollout.waiting.clone(), rollout.warnings.clone());
    let mut application = Application {
        writer: Writer::new(context, resource),
        resource,
        applied: Applied { waiting, warnings, ..Applied::default() },
    };
    for decision in &rollout.decisions {
        application.carry_out(decision).await?;
    }
    Ok(application.applied)
}

/// Makes the pods' account before all else can be planned: a cluster may give it the pull secrets that
/// are missing.
pub async fn account(context: &Context, resource: &Resource, live: Vec<LiveObject>) {
    if live.iter().any(|live| live.kind == ObjectKind::ServiceAccount) {
        return;
    }
    let running = Running { objects: live, ..Running::default() };
    let planned = objects::account(resource).into_iter().collect();
    let rollout = rollout::decide(resource, planned, &running);
    if let Err(WriteFailure { object, message, .. }) = apply(context, resource, &rollout).await {
        tracing::debug!(resource = %resource.key, object, why = message, "not made yet");
    }
}

/// One resource whose objects are applied.
struct Application<'a> {
    writer: Writer<'a>,
    resource: &'a Resource,
    applied: Applied,
}

impl Application<'_> {
    async fn carry_out(&mut self, decision: &Decision<'_>) -> Result<(), WriteFailure> {
        let Err(failure) = self.write(decision).await else { return Ok(()) };
        let Some((instead, remark)) = decision.instead(self.resource, &failure) else {
            return Err(failure);
        };
        self.applied.warnings.push(remark);
        self.write(&instead).await
    }

    async fn write(&mut self, decision: &Decision<'_>) -> Result<(), WriteFailure> {
        let Decision { object, action, beforehand } = decision;
        match *action {
            Action::Leave => return Ok(()),
            Action::Mark(live) => return self.writer.update(object, live).await,
            Action::Wait => return Err(WriteFailure::is_going(object)),
            Action::Refuse => return Err(WriteFailure::not_ours(object)),
            Action::Create => {
                if let Creation::Exists(found) = self.writer.create(object).await? {
                    let live = LiveObject::owned_by(object.kind, &found, self.resource);
                    let live = live.ok_or_else(|| WriteFailure::not_ours(object))?;
                    let again = Decision::of(self.resource, object.clone(), Some(&live));
                    return Box::pin(self.write(&again)).await;
                }
            }
            Action::Update(live) | Action::Adopt(live) => {
                if matches!(action, Action::Adopt(_)) {
                    self.writer.take_over(live).await?;
                }
                match *beforehand {
                    Beforehand::Nothing => {}
                    Beforehand::LeavePods(number) => self.writer.leave_pods(live, number).await,
                    Beforehand::WakePods(number) => self.writer.wake_pods(live, number).await?,
                    Beforehand::Disown => self.writer.disown(live, self.resource.owner()).await?,
                }
                self.writer.update(object, live).await?;
            }
        }
        self.applied.written.push(object.to_string());
        Ok(())
    }
}
