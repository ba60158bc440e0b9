//! Carries out what was decided about each planned object, in order. The first that cannot be written
//! stops the rest, so a Deployment never refers to what is not there; of those that come after the
//! Deployment none needs another.

use std::borrow::Cow;

use llsd_plan::live::LiveObject;
use llsd_plan::objects::{self, ObjectKind};
use llsd_plan::plan::Plan;
use llsd_plan::resource::Resource;
use llsd_plan::rollout::{self, Action, Beforehand, ClusterState, Decision, Rollout, WriteFailure};
use llsd_plan::status::Applied;

use super::preflight;
use super::writer::{Creation, Writer};
use crate::operator::controller::context::Context;
use crate::operator::telemetry::traces::TARGET;

/// What came of a rollout.
#[derive(Debug)]
pub struct ApplyOutcome {
    /// The objects that were written, as they are now, also where one after them could not be.
    pub objects: Vec<LiveObject>,
    /// An object that no watch had shown. With it everything is to be decided again.
    pub found: Option<LiveObject>,
    /// A failure kept the Deployment from being written.
    is_stopped: bool,
    pub result: Result<Applied, WriteFailure>,
}

/// Carries out a rollout of a plan, and starts the preflight that the plan waits for.
#[tracing::instrument(target = TARGET, level = "trace", skip_all)]
pub async fn apply<W: Writer>(
    context: &Context,
    writer: &mut W,
    resource: &Resource,
    plan: &Plan,
    rollout: &Rollout<'_>,
    state: &ClusterState,
) -> ApplyOutcome {
    let written = carry_out(writer, resource, rollout).await;
    if let Some(preflight) = rollout.preflight.filter(|_| !written.is_stopped) {
        preflight::start(context, writer, resource, plan, preflight, state).await;
    }
    written
}

/// Carries out decisions.
pub async fn carry_out<W: Writer>(
    writer: &mut W,
    resource: &Resource,
    rollout: &Rollout<'_>,
) -> ApplyOutcome {
    let (kept, warnings) = (rollout.kept.clone(), rollout.warnings.clone());
    let preflight = rollout.preflight.cloned().map(Box::new);
    let turn = rollout.waiting.cloned().map(Box::new);
    let causes = rollout.causes.clone();
    let lost = rollout.lost.clone();
    let applied = Applied { causes, kept, preflight, turn, warnings, lost, ..Applied::default() };
    let mut application = Application { writer, resource, applied, objects: vec![], found: None };
    let (failure, is_stopped) = match application.carry_out(&rollout.decisions).await {
        Ok(late) => (late, false),
        Err(failure) => (Some(failure), true),
    };
    let Application { applied, objects, found, .. } = application;
    ApplyOutcome { objects, found, is_stopped, result: failure.map_or(Ok(applied), Err) }
}

/// Removes the owner reference from claims that must outlive their resource, where nothing else is applied: a
/// paused or refused resource can be deleted, too. Returns whether all claims are released.
pub async fn release_claims<W: Writer>(
    writer: &mut W,
    resource: &Resource,
    objects: &[LiveObject],
) -> bool {
    let mut are_released = true;
    for claim in rollout::bound_to_resource(resource, objects) {
        if let Err(WriteFailure { object, message, .. }) =
            writer.disown(claim, resource.owner()).await
        {
            are_released = false;
            tracing::warn!(resource = %resource.key, object, why = message, "still goes with its resource");
        }
    }
    are_released
}

/// Creates the pods' account before all else can be planned: a cluster may give it the pull secrets that
/// are missing.
pub async fn account<W: Writer>(writer: &mut W, resource: &Resource, state: &ClusterState) {
    if state.objects.iter().any(|live| live.kind == ObjectKind::ServiceAccount) {
        return;
    }
    let planned = objects::account(resource).into_iter().collect();
    let rollout = rollout::decide(resource, planned, None, state);
    if let Err(failure) = carry_out(writer, resource, &rollout).await.result {
        let WriteFailure { object, message, .. } = failure;
        tracing::debug!(resource = %resource.key, object, why = message, "not created yet");
    }
}

/// One resource whose objects are applied.
struct Application<'a, W> {
    writer: &'a mut W,
    resource: &'a Resource,
    applied: Applied,
    objects: Vec<LiveObject>,
    found: Option<LiveObject>,
}

impl<W: Writer> Application<'_, W> {
    /// The first failure after the Deployment, where there is one; the error is a failure before that.
    async fn carry_out(
        &mut self,
        decisions: &[Decision<'_>],
    ) -> Result<Option<WriteFailure>, WriteFailure> {
        let mut first_failure = None;
        let mut is_deployed = false;
        for decision in decisions {
            let written = match self.write_or_instead(decision).await {
                Ok(()) => Ok(()),
                Err(failure) => self.writer.blocked(failure),
            };
            match written {
                Ok(()) => is_deployed |= decision.object.kind == ObjectKind::Deployment,
                // What comes after the Deployment needs nothing but the Deployment.
                Err(failure) if is_deployed => drop(first_failure.get_or_insert(failure)),
                Err(failure) => return Err(failure),
            }
        }
        Ok(first_failure)
    }

    async fn write_or_instead(&mut self, decision: &Decision<'_>) -> Result<(), WriteFailure> {
        let Err(failure) = self.write(decision).await else { return Ok(()) };
        let Some((instead, remark)) = decision.instead(self.resource, &failure) else {
            return Err(failure);
        };
        self.applied.warnings.push(remark);
        self.write(&instead).await
    }

    async fn write(&mut self, decision: &Decision<'_>) -> Result<(), WriteFailure> {
        let Decision { object, action, beforehand } = decision;
        let written = match *action {
            Action::Leave => return Ok(()),
            Action::Mark(live) => {
                self.objects.extend(self.writer.update(object, live).await?);
                return Ok(());
            }
            Action::Wait => return Err(WriteFailure::is_going(object)),
            Action::Refuse => return Err(WriteFailure::not_ours(object)),
            Action::Create => match self.writer.create(object).await? {
                Creation::Made(made) => made,
                Creation::Exists(found) => {
                    let live = LiveObject::owned_by(object.kind, &found, self.resource);
                    let live = live.ok_or_else(|| WriteFailure::not_ours(object))?;
                    if object.kind.follows_rules() {
                        self.found = Some(live);
                        return Err(WriteFailure::not_known(object));
                    }
                    let again = Decision::for_object(self.resource, object.clone(), Some(&live));
                    return Box::pin(self.write(&again)).await;
                }
            },
            Action::Update(live) | Action::Adopt(live) => {
                let mut live = Cow::Borrowed(live);
                if matches!(action, Action::Adopt(_)) {
                    live.to_mut().version = self.writer.take_over(&live).await?;
                }
                let prepared = match *beforehand {
                    Beforehand::Nothing => live.version,
                    Beforehand::LeavePods(number) => self.writer.leave_pods(&live, number).await,
                    Beforehand::WakePods(number) => self.writer.wake_pods(&live, number).await?,
                    Beforehand::Disown => self.writer.disown(&live, self.resource.owner()).await?,
                };
                if prepared != live.version {
                    live.to_mut().version = prepared;
                }
                self.writer.update(object, &live).await?
            }
        };
        self.objects.extend(written);
        self.applied.written.push(object.to_string());
        Ok(())
    }
}
