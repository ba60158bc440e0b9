//! What the cluster holds of the planned objects: what the watches have shown, and what they cannot show. Of
//! a kind whose watch is not in sync each planned object is read. Secrets are not watched, so the one that is
//! planned is read each time; and where the Deployment may keep the template that it has, all of it is read.

use llsd_api::v1alpha2::RollbackPolicy;
use llsd_plan::facts::Facts;
use llsd_plan::live::LiveObject;
use llsd_plan::objects::{ObjectKind, PlannedObject, start_program};
use llsd_plan::plan::Plan;
use llsd_plan::resource::Resource;
use llsd_plan::rollout::preflight::may_need_preflight;
use llsd_plan::rollout::retention::Names;
use llsd_plan::rollout::{self, Back, ClusterState, Refused, WriteFailure};
use llsd_plan::status;
use serde_json::Value;

use super::unwatched::{Found, is_out_of_sync, look};
use super::writer::ObjectRequests;
use super::{history, pods, preflight, shared, turn};
use crate::operator::controller::context::Context;
use crate::operator::controller::state::{Denials, failure};
use crate::operator::telemetry::traces::TARGET;

/// What there is of `planned`, beside the `objects` that are known of the resource.
#[tracing::instrument(target = TARGET, level = "trace", skip_all)]
pub async fn survey(
    context: &Context,
    resource: &Resource,
    plan: &Plan,
    planned: &[PlannedObject],
    objects: &[LiveObject],
    denials: &Denials<'_>,
) -> Result<ClusterState, WriteFailure> {
    let key = &resource.key;
    let mut state = ClusterState {
        objects: objects.to_vec(),
        gone: context.memory.secrets_gone(key, &Names::new()),
        now: context.clock.now().as_second(),
        ..ClusterState::default()
    };
    let secret = planned.iter().find(|object| object.kind == ObjectKind::Secret);
    context.secrets.keep_reading(key, secret.map(|secret| secret.name.as_str()));
    for PlannedObject { kind, name, .. } in planned {
        if is_out_of_sync(context, *kind, &key.namespace) {
            let found = look(context, resource, *kind, name, denials).await;
            let found = found.map_err(|error| failure(&context.rights, *kind, name, &error))?;
            if found == Found::Foreign {
                state.foreign.push((*kind, name.clone()));
            }
            found.put_into(&mut state.objects, *kind, name);
        }
    }
    let requests = ObjectRequests::new(context, resource);
    for object in planned {
        match object.kind {
            ObjectKind::Secret => survey_secret(requests, object, &mut state).await?,
            ObjectKind::Deployment => {
                survey_deployment(context, requests, plan, object, &mut state).await?;
            }
            _ => {}
        }
    }
    Ok(state)
}

async fn survey_secret(
    requests: ObjectRequests<'_>,
    planned: &PlannedObject,
    state: &mut ClusterState,
) -> Result<(), WriteFailure> {
    let found = match requests.fetch(planned.kind, &planned.name).await {
        Ok(found) => found,
        // Then creating it fails too, in its turn, and says so.
        Err(failure) if failure.refused == Refused::Forbidden => None,
        Err(failure) => return Err(failure),
    };
    let Some(found) = found else { return Ok(()) };
    match LiveObject::owned_by(planned.kind, &found, requests.resource) {
        Some(own) => state.objects.push(own),
        None => state.foreign.push((planned.kind, planned.name.clone())),
    }
    Ok(())
}

/// What is needed to take a failed rollout back where nothing can be planned; `None` where none failed, or
/// there is nothing to go back to.
pub async fn survey_failed(
    context: &Context,
    resource: &Resource,
    policy: RollbackPolicy,
    objects: &[LiveObject],
) -> Result<Option<ClusterState>, WriteFailure> {
    let now = context.clock.now().as_second();
    let deployment = objects.iter().find(|live| live.kind == ObjectKind::Deployment);
    let back = deployment.and_then(|live| rollout::failed_rollout(live, policy, now));
    let Some((mut back, live)) = back.zip(deployment) else { return Ok(None) };
    let requests = ObjectRequests::new(context, resource);
    let mut state = ClusterState { now, ..ClusterState::of_objects(objects.to_vec()) };
    complete_return(context, requests, live, &mut back, &mut state).await?;
    state.deployment = requests.fetch(live.kind, &live.name).await?;
    if let Some(detail) = live.deployment() {
        state.take_return(back, detail);
    }
    Ok(Some(state))
}

/// The Deployment and what leads to its pods, whole, where that has to follow them although nothing can be planned;
/// else nothing.
pub async fn survey_astray(
    context: &Context,
    resource: &Resource,
    facts: &Facts,
    objects: &[LiveObject],
) -> Result<Vec<Value>, WriteFailure> {
    let requests = ObjectRequests::new(context, resource);
    let mut whole = Vec::new();
    for live in rollout::led_astray(resource, facts, objects) {
        whole.extend(requests.fetch(live.kind, &live.name).await?);
    }
    Ok(whole)
}

/// Adds what only the cluster tells of a return: its template, and what was in the way of the pods that failed. Those
/// go with the return, so that is recorded with it.
async fn complete_return(
    context: &Context,
    requests: ObjectRequests<'_>,
    live: &LiveObject,
    back: &mut Back,
    state: &mut ClusterState,
) -> Result<(), WriteFailure> {
    let key = &requests.resource.key;
    let unread = |error| failure(&context.rights, live.kind, &live.name, &error);
    let template = history::template(context, key, &live.uid, &back.to.to).await;
    back.template = template.map_err(unread)?;
    if let Some(template) = &back.template {
        let mounted: Vec<String> = start_program::mounted(template).map(str::to_owned).collect();
        let names = || mounted.iter().map(String::as_str);
        shared::look_up(context, requests, names(), state).await?;
        back.leave_out_unstartable(names(), &state.objects, &state.lacking);
    }
    if back.template.is_none() || back.to.from.is_empty() {
        return Ok(());
    }
    let pods = match pods::of_template(context, key, &back.to.from).await.map_err(unread) {
        Ok(pods) => pods,
        // A return without a cause is better than none.
        Err(failure) if failure.refused == Refused::Forbidden => return Ok(()),
        Err(failure) => return Err(failure),
    };
    let cause = pods::trouble(context, key, &pods, status::failure_cause).await;
    back.to.cause = cause.unwrap_or_default();
    Ok(())
}

/// The copies of the start programs that the Deployment mounts as it is, where they are not known to be there.
async fn survey_programs(
    context: &Context,
    requests: ObjectRequests<'_>,
    state: &mut ClusterState,
) -> Result<(), WriteFailure> {
    let deployment = state.objects.iter().find_map(LiveObject::deployment);
    let mounted = deployment.map(|deployment| deployment.programs.clone()).unwrap_or_default();
    shared::look_up(context, requests, mounted.iter().map(|name| &**name), state).await
}

/// The same alone, for when nothing can be planned.
pub async fn survey_unplanned(
    context: &Context,
    resource: &Resource,
    objects: &[LiveObject],
) -> Result<ClusterState, WriteFailure> {
    let mut state = ClusterState::of_objects(objects.to_vec());
    survey_programs(context, ObjectRequests::new(context, resource), &mut state).await?;
    Ok(state)
}

/// The template that a return goes back to, the whole Deployment, the preflight's answer and the turn of a
/// shared change, each where the decision about the Deployment needs it.
async fn survey_deployment(
    context: &Context,
    requests: ObjectRequests<'_>,
    plan: &Plan,
    planned: &PlannedObject,
    state: &mut ClusterState,
) -> Result<(), WriteFailure> {
    let resource = requests.resource;
    let image_override = plan.image.image_override();
    survey_programs(context, requests, state).await?;
    let (live, now) = (state.counterpart(planned), state.now);
    let keeps = rollout::keeps_template(resource, planned, image_override, live);
    let back = rollout::returns_to(resource, planned, image_override, plan.rollback, live, now);
    if let Some((mut back, live)) = back.zip(live) {
        let (live, detail) = (live.clone(), live.deployment().cloned());
        complete_return(context, requests, &live, &mut back, state).await?;
        if let Some(detail) = detail {
            state.take_return(back, &detail);
        }
    }
    let goes_back = state.goes_back();
    let may_need_preflight = !keeps
        && !goes_back
        && may_need_preflight(resource, planned, plan.preflight, &state.objects, now);
    if keeps || may_need_preflight {
        state.deployment = requests.fetch(planned.kind, &planned.name).await?;
    }
    if may_need_preflight {
        state.preflight = preflight::look(context, resource, plan, planned, state).await?;
    }
    if !goes_back {
        state.turn = turn::take(context, resource, planned, state);
    }
    if state.turn.waiting().is_some() && state.deployment.is_none() {
        state.deployment = requests.fetch(planned.kind, &planned.name).await?;
    }
    state.settle_return();
    Ok(())
}
