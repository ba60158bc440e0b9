//! Carries out what was decided about each planned object, in order. The first that cannot be written
//! stops the rest, so a Deployment never refers to what is not there; of those that come after the
//! Deployment none needs another.

mod preflight;
mod writer;

use k8s_openapi::jiff::Timestamp;
use llsd_plan::live::LiveObject;
use llsd_plan::objects::{self, ObjectKind, PlannedObject};
use llsd_plan::plan::Plan;
use llsd_plan::resource::{Key, Resource};
use llsd_plan::rollout::preflight::may_need_preflight;
use llsd_plan::rollout::retention::Names;
use llsd_plan::rollout::{
    self, Action, Beforehand, ClusterState, Decision, Refused, Rollout, WriteFailure,
};
use llsd_plan::status::Applied;

use crate::operator::controller::context::Context;
use crate::operator::controller::state::api_error::failure;
use crate::operator::controller::state::rights::Denials;
use crate::operator::controller::steps::history;
use crate::operator::controller::steps::unwatched::{Found, is_out_of_sync, look};
use crate::operator::telemetry::Generation;
use crate::operator::telemetry::traces::TARGET;
use writer::{Creation, Writer};

/// What the cluster holds of the planned objects: what the watches have shown, and what they cannot
/// show. Of a kind whose watch is not up to date each planned object is read. Secrets are not watched,
/// so the one that is planned is read each time; and where a Deployment keeps the template that it has,
/// the whole of it is compared with the planned one.
pub async fn running(
    context: &Context,
    resource: &Resource,
    plan: &Plan,
    planned: &[PlannedObject],
    live: Vec<LiveObject>,
    denials: &Denials<'_>,
) -> Result<ClusterState, WriteFailure> {
    let writer = Writer::new(context, resource);
    let key = &resource.key;
    let image_override = plan.image.image_override();
    let now = Timestamp::now().as_second();
    let gone = context.memory.secrets_gone(key, &Names::new());
    let mut running = ClusterState { objects: live, gone, now, ..ClusterState::default() };
    let secret = planned.iter().find(|object| object.kind == ObjectKind::Secret);
    context.secrets.keep_reading(key, secret.map(|secret| secret.name.as_str()));
    for PlannedObject { kind, name, .. } in planned {
        if is_out_of_sync(context, *kind, &key.namespace) {
            let found = look(context, resource, *kind, name, denials).await;
            match found.map_err(|error| failure(&context.rights, *kind, name, &error))? {
                Found::Foreign => running.foreign.push((*kind, name.clone())),
                Found::Own | Found::Missing | Found::Forbidden => {}
            }
            running.objects = context.cache.live(key);
        }
    }
    for object in planned {
        match object.kind {
            ObjectKind::Secret => {
                let found = match writer.fetch(object.kind, &object.name).await {
                    Ok(found) => found,
                    // Then making it fails too, in its turn, and says so.
                    Err(failure) if failure.refused == Refused::Forbidden => None,
                    Err(failure) => return Err(failure),
                };
                let Some(found) = found else { continue };
                match LiveObject::owned_by(object.kind, &found, resource) {
                    Some(own) => running.objects.push(own),
                    None => running.foreign.push((object.kind, object.name.clone())),
                }
            }
            ObjectKind::Deployment => {
                let live = running.counterpart(object);
                let keeps = rollout::keeps_template(resource, object, image_override, live);
                let back =
                    rollout::returns_to(resource, object, image_override, plan.rollback, live);
                let back = back.zip(live.map(|live| live.uid.clone()));
                if let Some((back, uid)) = back {
                    let template = history::template(context, key, &uid, &back.to).await;
                    let unread =
                        |error| failure(&context.rights, object.kind, &object.name, &error);
                    running.back = Some((back, template.map_err(unread)?));
                }
                let goes_back = running.back.as_ref().is_some_and(|(_, to)| to.is_some());
                let is_judged = !keeps
                    && !goes_back
                    && may_need_preflight(resource, object, plan.preflight, &running.objects);
                if keeps || is_judged {
                    running.deployment = writer.fetch(object.kind, &object.name).await?;
                }
                if is_judged {
                    running.preflight =
                        preflight::look(context, resource, plan, object, &running).await?;
                }
            }
            _ => {}
        }
    }
    Ok(running)
}

/// Carries out a rollout; of a plan that is to be judged first, what the judgement needs.
#[tracing::instrument(target = TARGET, level = "trace", skip_all)]
pub async fn apply(
    context: &Context,
    resource: &Resource,
    plan: Option<&Plan>,
    rollout: &Rollout<'_>,
) -> Result<Applied, WriteFailure> {
    let (kept, warnings) = (rollout.kept.clone(), rollout.warnings.clone());
    let preflight = rollout.preflight.cloned().map(Box::new);
    let mut application = Application {
        writer: Writer::new(context, resource),
        resource,
        applied: Applied { kept, preflight, warnings, ..Applied::default() },
    };
    let mut first_failure = None;
    let mut is_deployed = false;
    for decision in &rollout.decisions {
        match application.carry_out(decision).await {
            Ok(()) => is_deployed |= decision.object.kind == ObjectKind::Deployment,
            // What comes after the Deployment needs nothing but the Deployment.
            Err(failure) if is_deployed => drop(first_failure.get_or_insert(failure)),
            Err(failure) => return Err(failure),
        }
    }
    if let (Some(plan), Some(preflight)) = (plan, rollout.preflight) {
        preflight::start(context, resource, plan, preflight).await;
    }
    first_failure.map_or(Ok(application.applied), Err)
}

/// Counts and logs what was applied.
pub fn record(context: &Context, key: &Key, plan: &Plan, applied: &Applied) {
    if let Some(config) = plan.objects.config_map.as_ref().filter(|_| plan.generated.is_some()) {
        let name = config.metadata.name.as_deref().unwrap_or_default();
        let is_written = applied.written.contains(&format!("ConfigMap {name}"));
        let result = if is_written { Generation::Written } else { Generation::Unchanged };
        context.metrics.config_generation(result);
    }
    if !applied.written.is_empty() || !applied.deleted.is_empty() {
        let (written, deleted) = (applied.written.join(", "), applied.deleted.join(", "));
        tracing::info!(resource = %key, written, deleted, "applied");
    }
}

/// Makes the pods' account before all else can be planned: a cluster may give it the pull secrets that
/// are missing.
pub async fn account(context: &Context, resource: &Resource, live: Vec<LiveObject>) {
    if live.iter().any(|live| live.kind == ObjectKind::ServiceAccount) {
        return;
    }
    let running = ClusterState { objects: live, ..ClusterState::default() };
    let planned = objects::account(resource).into_iter().collect();
    let rollout = rollout::decide(resource, planned, None, &running);
    if let Err(WriteFailure { object, message, .. }) =
        apply(context, resource, None, &rollout).await
    {
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
                    let again = Decision::for_object(self.resource, object.clone(), Some(&live));
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
