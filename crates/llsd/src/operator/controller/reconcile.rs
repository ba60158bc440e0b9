//! One reconcile of a resource: parse, the pipeline with a writer that writes, observe, report. Nothing is
//! kept from one time to the next but what is cheap to lose.

use std::time::Duration;

use llsd_plan::live::LiveObject;
use llsd_plan::objects::{ObjectKind, names};
use llsd_plan::plan::Planning;
use llsd_plan::resource::{Key, Resource};
use llsd_plan::rollout::{self, Contention};
use llsd_plan::status::{Applying, ConditionType, Limitation, Pass, TagNow};

use super::context::Context;
use super::outcome::{next_look, outcome, record};
use super::pipeline::{self, PipelineResult, Stopped};
use super::record_image;
use super::shared;
use super::state::{Denials, Next, safe_message};
use super::steps::apply::release_claims;
use super::steps::gather::{GatherError, gather};
use super::steps::observe::{self, Observation, observe};
use super::steps::report::report;
use super::steps::unwatched;
use super::steps::writer::{ClusterWriter, ObjectRequests};
use crate::operator::telemetry::{Reconcile, traces};

/// Works on one resource, which the cache parses, or on what those of a namespace share.
pub async fn reconcile(context: &Context, key: &Key) -> (Reconcile, Next) {
    let done = if key.is_of_namespace() {
        shared::reconcile(context, key).await
    } else {
        let Some(resource) = traces::parse(|| context.cache.resource(key)) else {
            context.forget(key);
            return (Reconcile::Deleted, Next::Rest);
        };
        Box::pin(steps(context, &resource)).await
    };
    done.unwrap_or_else(|error| {
        tracing::warn!(resource = %key, error = safe_message(&error), "the API server is in the way");
        (Reconcile::Unavailable, Next::Retry)
    })
}

async fn steps(context: &Context, resource: &Resource) -> kube::Result<(Reconcile, Next)> {
    let denials = Denials::new(&context.rights);
    if resource.deleting {
        left_alone(context, resource, Pass::Deleting, &[]).await?;
        return Ok((Reconcile::Deleted, Next::Rest));
    }
    if let Some(contention) = contention(context, resource) {
        return contended(context, resource, &contention).await;
    }
    if resource.paused {
        return paused(context, resource, &denials).await;
    }
    let mut writer = ClusterWriter::new(context, resource);
    let progress = match pipeline::run(context, resource, &mut writer, &denials).await {
        Ok(progress) => progress,
        Err(Stopped::Gather(GatherError::Awaiting(wait))) => {
            return Ok((Reconcile::Awaiting, Next::Await(wait)));
        }
        Err(Stopped::Gather(GatherError::NotReadable)) => {
            let mut limits = denials.limitations();
            limits.extend(unwatched::limitations(context, &resource.key, None, false));
            left_alone(context, resource, Pass::Hindered, &limits).await?;
            return Ok((Reconcile::Unavailable, Next::Retry));
        }
        Err(Stopped::Gather(GatherError::Api(error)) | Stopped::Prune(error)) => return Err(error),
    };
    conclude(context, resource, progress, &denials).await
}

/// Reports on a resource for which nothing is done; only its objects count.
async fn left_alone(
    context: &Context,
    resource: &Resource,
    pass: Pass<'_>,
    limits: &[Limitation],
) -> kube::Result<()> {
    let now = observe::of_objects(resource, &context.cache.live(&resource.key));
    report(context, resource, pass, &now, &TagNow::Unknown, limits).await
}

/// That another installation of the operator has just taken the resource over from this one.
fn contention(context: &Context, resource: &Resource) -> Option<Contention> {
    let objects = context.cache.live(&resource.key);
    let deployment = objects.iter().find_map(LiveObject::deployment)?;
    let now = context.clock.now().as_second();
    rollout::contention(deployment, context.secrets.key().id(), now)
}

/// Leaves everything as it is, and says so once: what else the status says is the other installation's.
async fn contended(
    context: &Context,
    resource: &Resource,
    contention: &Contention,
) -> kube::Result<(Reconcile, Next)> {
    let mut conditions = resource.status["conditions"].as_array().into_iter().flatten();
    if !conditions.any(|known| known["type"] == ConditionType::Contended.as_str()) {
        left_alone(context, resource, Pass::Contended(contention), &[]).await?;
    }
    let rest = Duration::from_secs(contention.rest.unsigned_abs());
    Ok((Reconcile::Contended, Next::After(rest)))
}

async fn paused(
    context: &Context,
    resource: &Resource,
    denials: &Denials<'_>,
) -> kube::Result<(Reconcile, Next)> {
    let objects = context.cache.live(&resource.key);
    let mut writer = ClusterWriter::new(context, resource);
    let are_released = release_claims(&mut writer, resource, &objects).await;
    let (waiting, again) = match waiting(context, resource, denials).await {
        Ok(waiting) => (waiting, None),
        Err(again) => (None, Some(again)),
    };
    let now = observe(context, resource, None, &objects, denials).await?;
    let pass = Pass::Paused { waiting: waiting.as_deref() };
    report(context, resource, pass, &now, &TagNow::Unknown, &denials.limitations()).await?;
    let again = if are_released { again } else { Some(Next::Retry) };
    Ok((Reconcile::Paused, again.unwrap_or_else(|| next_look(&context.settings, &now))))
}

/// The inputs of a paused resource that its Deployment was not made from, found out by reading and planning
/// alone; none where the resource cannot be planned. The error says when to try again.
async fn waiting(
    context: &Context,
    resource: &Resource,
    denials: &Denials<'_>,
) -> Result<Option<Vec<String>>, Next> {
    let mut gathered = match gather(context, resource, denials).await {
        Ok(gathered) => gathered,
        Err(GatherError::Awaiting(wait)) => return Err(Next::Await(wait)),
        Err(GatherError::NotReadable | GatherError::Api(_)) => return Err(Next::Retry),
    };
    let planning = gathered.plan(resource);
    let plan = match &planning {
        Planning::Planned(plan) => plan,
        Planning::Refused(_) => return Ok(None),
        Planning::Unavailable { .. } => return Err(Next::Retry),
    };
    let (kind, name) = (ObjectKind::Deployment, names::deployment(&resource.key.name));
    if gathered.objects.iter().all(|live| live.kind != kind) {
        // One that lost its label is shown by no watch.
        let found = ObjectRequests::new(context, resource).fetch(kind, &name).await;
        let found = found.map_err(|_| Next::Retry)?;
        let live = found.and_then(|found| LiveObject::owned_by(kind, &found, resource));
        gathered.objects.extend(live);
    }
    let planned = gathered.planned_objects(resource, plan);
    Ok(Some(rollout::changed_inputs(&planned, &gathered.objects)))
}

/// The steps after the pipeline: observe and report, unless the report can wait for what is about to come.
async fn conclude(
    context: &Context,
    resource: &Resource,
    mut progress: PipelineResult,
    denials: &Denials<'_>,
) -> kube::Result<(Reconcile, Next)> {
    let key = &resource.key;
    record(context, key, &progress);
    if let Some(Ok(applied)) = &mut progress.carried_out {
        if context.memory.defers_report(resource, applied, context.queue.is_busy()) {
            return Ok((Reconcile::Planned, Next::After(Duration::ZERO)));
        }
        context.memory.add_unreported(key, applied);
        if progress.gathered.images_are_new {
            record_image::keep(context, resource, &progress.gathered.facts, &progress.state).await;
        }
    }
    let objects = &progress.state.objects;
    let now = observe(context, resource, progress.plan(), objects, denials).await?;
    if let (Some(Ok(applied)), Some(soon)) = (&mut progress.carried_out, now.answers_soon(resource))
    {
        context.memory.report_later(key, applied);
        return Ok((Reconcile::Planned, Next::After(soon)));
    }
    tell(context, resource, &progress, &now, denials).await
}

async fn tell(
    context: &Context,
    resource: &Resource,
    progress: &PipelineResult,
    now: &Observation,
    denials: &Denials<'_>,
) -> kube::Result<(Reconcile, Next)> {
    let PipelineResult { gathered, planning, carried_out, .. } = progress;
    let applying = match carried_out {
        None => Applying::Nothing,
        Some(Ok(applied)) => Applying::Applied(applied),
        Some(Err(failure)) => Applying::Failed(failure),
    };
    let pass = Pass::Reconciled { planning, applying };
    let (mut limits, key) = (denials.limitations(), &resource.key);
    let is_denied = !limits.is_empty();
    let lacks_its_image = gathered.facts.image.unavailable.is_some();
    limits.extend(unwatched::limitations(context, key, progress.plan(), lacks_its_image));
    report(context, resource, pass, now, &gathered.tag, &limits).await?;
    Ok(outcome(&context.settings, planning, carried_out, now, is_denied))
}
