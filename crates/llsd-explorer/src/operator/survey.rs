//! What the cluster holds of the planned objects, and what became of a preflight.

use llsd_plan::facts::Facts;
use llsd_plan::live::{DeploymentDetail, Detail, JobDetail, LiveObject};
use llsd_plan::objects::{ObjectKind, PlannedObject};
use llsd_plan::plan::{Plan, rollback_policy};
use llsd_plan::resource::Resource;
use llsd_plan::rollout::preflight::{
    self, Asked, Preflight, PreflightResult, Question, Seen, may_need_preflight,
};
use llsd_plan::rollout::{self, Back, ClusterState};
use serde_json::Value;

use super::planning::secrets;
use crate::wish::Mood;
use crate::world::{Job, World, owner};

/// How long a preflight may take, in seconds.
pub const DEADLINE: i64 = 600;

/// What the cluster holds of the planned objects.
pub fn survey(
    world: &World,
    resource: &Resource,
    plan: &Plan,
    planned: &[PlannedObject],
    objects: Vec<LiveObject>,
) -> ClusterState {
    let still_read = rollout::still_read(&objects, &secrets(world));
    let mut state = ClusterState { objects, still_read, now: world.now, ..ClusterState::default() };
    let deployment = planned.iter().find(|object| object.kind == ObjectKind::Deployment);
    let Some(deployment) = deployment else { return state };
    let image_override = plan.image.image_override();
    let (live, now) = (state.counterpart(deployment), state.now);
    let keeps = rollout::keeps_template(resource, deployment, image_override, live);
    let back = rollout::returns_to(resource, deployment, image_override, plan.rollback, live, now);
    if let Some((back, live)) = back.zip(live.and_then(LiveObject::deployment).cloned()) {
        take_return(world, &mut state, back, &live);
    }
    let asks = !keeps
        && !state.goes_back()
        && may_need_preflight(resource, deployment, plan.preflight, &state.objects, now);
    if keeps || asks {
        state.deployment = world.deployment().cloned();
    }
    if asks && let Some(whole) = &state.deployment {
        state.preflight = look(world, resource, deployment, whole);
    }
    state.settle_return();
    state
}

/// What is needed to take a failed rollout back where nothing can be planned.
pub fn survey_failed(
    world: &World,
    resource: &Resource,
    objects: Vec<LiveObject>,
) -> Option<ClusterState> {
    let policy = rollback_policy(resource, Facts::default().operator.rollback);
    let live = objects.iter().find(|live| live.kind == ObjectKind::Deployment)?;
    let back = rollout::failed_rollout(live, policy, world.now)?;
    let live = live.deployment()?.clone();
    let (deployment, now) = (world.deployment().cloned(), world.now);
    let mut state = ClusterState { objects, deployment, now, ..ClusterState::default() };
    take_return(world, &mut state, back, &live);
    Some(state)
}

fn take_return(world: &World, state: &mut ClusterState, mut back: Back, live: &DeploymentDetail) {
    back.template = world.template_of(&back.to.to);
    if !back.to.from.is_empty() {
        back.to.cause = format!("CrashLoopBackOff (llama-stack): {} does not start", back.to.from);
    }
    state.take_return(back, live);
}

fn look(
    world: &World,
    resource: &Resource,
    planned: &PlannedObject,
    whole: &Value,
) -> Option<Preflight> {
    let question = Question::for_change(resource, planned, whole)?;
    let job = world.jobs.iter().find(|job| job.name == question.job);
    let detail = job.map(job_detail);
    let seen = match job {
        None | Some(Job { has_pod: false, .. }) => Seen::NoPod,
        Some(Job { has_image: false, image, .. }) => Seen::CannotPull {
            container: "llama-stack".to_owned(),
            why: format!("{image} (ImagePullBackOff): dial tcp: i/o timeout"),
            is_final: false,
        },
        Some(job) => Seen::Checked(match job.mood {
            Mood::Refused => PreflightResult::refused("schema", "providers", "no such field"),
            Mood::Good | Mood::Broken => PreflightResult::parse(r#"{"verdict": "good"}"#),
        }),
    };
    let asked = Asked {
        job: detail.as_ref(),
        seen,
        not_made: None,
        has_slot: true,
        now: world.now,
        deadline: DEADLINE,
    };
    Some(preflight::decide(&question, &asked, |path| format!("spec.{path}")))
}

fn job_detail(job: &Job) -> JobDetail {
    JobDetail { created: job.created, active: i64::from(job.has_pod), ended: None }
}

/// A Job as the watches show it.
pub fn job_object(job: &Job) -> LiveObject {
    LiveObject {
        kind: ObjectKind::Job,
        name: job.name.as_str().into(),
        uid: job.name.as_str().into(),
        version: 1,
        controller: Some(owner(job.resource).into()),
        controlled_by_us: true,
        fingerprint: None,
        answered: None,
        created: job.created,
        deleting: false,
        detail: Detail::Job(job_detail(job)),
    }
}
