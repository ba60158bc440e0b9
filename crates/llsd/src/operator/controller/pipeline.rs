//! The steps of a reconcile from what a resource asks for to what the cluster holds: gather, plan, survey,
//! decide, apply and prune. A reconcile runs them with a writer that writes, `llsd diff` with one that only
//! asks what would change; so both decide alike. Each step takes what it needs as arguments and has its own
//! error; before them a resource is parsed, and after them a reconcile observes and reports.

use llsd_plan::live::LiveObject;
use llsd_plan::plan::{Plan, Planning, rollback_policy};
use llsd_plan::resource::Resource;
use llsd_plan::rollout::{self, ClusterState, WriteFailure};
use llsd_plan::status::Applied;

use super::context::Context;
use super::state::Denials;
use super::steps::apply::{self, ApplyOutcome, apply, carry_out};
use super::steps::gather::{GatherError, Gathered, gather};
use super::steps::prune::prune;
use super::steps::survey::{survey, survey_astray, survey_failed, survey_unplanned};
use super::steps::writer::Writer;
use crate::operator::telemetry::traces;

/// What became of the plan, where there was one.
pub type CarriedOut = Option<Result<Applied, WriteFailure>>;

/// How far the steps came.
#[derive(Debug)]
pub struct PipelineResult {
    pub gathered: Gathered,
    pub planning: Planning,
    /// What the cluster holds now.
    pub state: ClusterState,
    pub carried_out: CarriedOut,
}

impl PipelineResult {
    pub fn plan(&self) -> Option<&Plan> {
        match &self.planning {
            Planning::Planned(plan) => Some(plan),
            Planning::Refused(_) | Planning::Unavailable { .. } => None,
        }
    }
}

/// Why a resource was left as it is.
#[derive(Debug)]
pub enum Stopped {
    Gather(GatherError),
    /// What is no longer asked for could not be looked at.
    Prune(kube::Error),
}

/// Runs the steps.
pub async fn run<W: Writer>(
    context: &Context,
    resource: &Resource,
    writer: &mut W,
    denials: &Denials<'_>,
) -> Result<PipelineResult, Stopped> {
    let gathered = gather(context, resource, denials).await;
    if let Err(GatherError::Awaiting(_)) = &gathered {
        let objects = context.cache.live(&resource.key);
        take_back(context, resource, writer, &objects).await;
        restore_programs(context, resource, writer, &objects).await;
    }
    let mut gathered = gathered.map_err(Stopped::Gather)?;
    let planning = gathered.plan(resource);
    let (state, carried_out) = match &planning {
        Planning::Planned(plan) => {
            roll_out(context, resource, writer, plan, &gathered, denials).await?
        }
        Planning::Unavailable { .. } | Planning::Refused(_) => {
            let mut state = ClusterState::of_objects(gathered.objects.clone());
            apply::release_claims(writer, resource, &state.objects).await;
            let taken = take_back(context, resource, writer, &state.objects).await;
            if taken.is_empty() {
                let followed = follow_pods(context, resource, writer, &gathered).await;
                state.put(followed);
            }
            state.put(taken);
            state.put(restore_programs(context, resource, writer, &gathered.objects).await);
            if matches!(planning, Planning::Unavailable { .. }) {
                apply::account(writer, resource, &state).await;
            }
            (state, None)
        }
    };
    Ok(PipelineResult { gathered, planning, state, carried_out })
}

/// Takes a rollout back that failed, although nothing can be planned now: no pod may serve meanwhile. Returns
/// what was written; what could not be is tried again with the next pass.
async fn take_back<W: Writer>(
    context: &Context,
    resource: &Resource,
    writer: &mut W,
    objects: &[LiveObject],
) -> Vec<LiveObject> {
    let policy = rollback_policy(resource, context.configuration.get().config.rollback);
    let taken = match survey_failed(context, resource, policy, objects).await {
        Ok(state) => match state.as_ref().and_then(|it| rollout::decide_unplanned(resource, it)) {
            Some(rollout) => written(carry_out(writer, resource, &rollout).await),
            None => Ok(Vec::new()),
        },
        Err(failure) => Err(failure),
    };
    or_warn(resource, taken, "not taken back yet")
}

fn written(
    ApplyOutcome { objects, result, .. }: ApplyOutcome,
) -> Result<Vec<LiveObject>, WriteFailure> {
    result.map(|_| objects)
}

/// What was written. What could not be is tried again with the next pass.
fn or_warn(
    resource: &Resource,
    written: Result<Vec<LiveObject>, WriteFailure>,
    warning: &'static str,
) -> Vec<LiveObject> {
    written.unwrap_or_else(|WriteFailure { object, message, .. }| {
        tracing::warn!(resource = %resource.key, object, why = message, "{warning}");
        Vec::new()
    })
}

/// Has what leads to the pods follow those that serve, although nothing can be planned now: nobody may reach them
/// meanwhile. Returns what was written; what could not be is tried again with the next pass.
async fn follow_pods<W: Writer>(
    context: &Context,
    resource: &Resource,
    writer: &mut W,
    Gathered { facts, objects, .. }: &Gathered,
) -> Vec<LiveObject> {
    let followed = match survey_astray(context, resource, facts, objects).await {
        Ok(whole) => {
            let rollout = rollout::decide_surroundings(resource, facts, objects, &whole);
            written(carry_out(writer, resource, &rollout).await)
        }
        Err(failure) => Err(failure),
    };
    or_warn(resource, followed, "does not lead to the pods yet")
}

/// Makes the copies of the start programs again that the pods mount and that are missing, although nothing can be
/// planned now: no pod could be started meanwhile. Returns what was written.
async fn restore_programs<W: Writer>(
    context: &Context,
    resource: &Resource,
    writer: &mut W,
    objects: &[LiveObject],
) -> Vec<LiveObject> {
    let restored = match survey_unplanned(context, resource, objects).await {
        Ok(state) => {
            let rollout = rollout::decide_programs(resource, &state);
            written(carry_out(writer, resource, &rollout).await)
        }
        Err(failure) => Err(failure),
    };
    or_warn(resource, restored, "not made again yet")
}

async fn roll_out<W: Writer>(
    context: &Context,
    resource: &Resource,
    writer: &mut W,
    plan: &Plan,
    gathered: &Gathered,
    denials: &Denials<'_>,
) -> Result<(ClusterState, CarriedOut), Stopped> {
    let image_override = plan.image.image_override();
    let mut known = ClusterState::of_objects(gathered.objects.clone());
    let (mut state, written) = loop {
        let planned = gathered.planned_objects(resource, plan);
        let surveyed = survey(context, resource, plan, &planned, &known.objects, denials).await;
        let state = match surveyed {
            Ok(state) => ClusterState { still_read: gathered.still_read(), ..state },
            Err(failure) => return Ok((known, Some(Err(failure)))),
        };
        let rollout = traces::decide(|| rollout::decide(resource, planned, image_override, &state));
        let mut written = apply(context, writer, resource, plan, &rollout, &state).await;
        match written.found.take() {
            // Each time one more is known, so this ends.
            Some(found) => known.put(written.objects.into_iter().chain([found]).collect()),
            None => break (state, written),
        }
    };
    state.put(written.objects);
    let mut applied = match written.result {
        Ok(applied) => applied,
        Err(failure) => return Ok((state, Some(Err(failure)))),
    };
    let pruned = prune(context, writer, resource, plan, &applied, &state.objects, denials).await;
    let pruned = pruned.map_err(Stopped::Prune)?;
    for (kind, name) in pruned.deleted {
        state.objects.retain(|object| !object.is_named(kind, &name));
        applied.deleted.push(format!("{} {name}", kind.name()));
    }
    applied.undeleted = pruned.undeleted;
    Ok((state, Some(Ok(applied))))
}
