//! What the cluster holds of the planned objects, and what became of a preflight.

use llsd_plan::live::{Detail, JobDetail, LiveObject};
use llsd_plan::objects::{ObjectKind, PlannedObject};
use llsd_plan::plan::Plan;
use llsd_plan::resource::Resource;
use llsd_plan::rollout::preflight::{
    self, Asked, Preflight, PreflightResult, Question, Seen, may_need_preflight,
};
use llsd_plan::rollout::{self, ClusterState};
use serde_json::Value;

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
    let mut state = ClusterState { objects, now: world.now, ..ClusterState::default() };
    let deployment = planned.iter().find(|object| object.kind == ObjectKind::Deployment);
    let Some(deployment) = deployment else { return state };
    let image_override = plan.image.image_override();
    let (live, now) = (state.counterpart(deployment), state.now);
    let keeps = rollout::keeps_template(resource, deployment, image_override, live);
    let back = rollout::returns_to(resource, deployment, image_override, plan.rollback, live, now);
    if let Some(mut back) = back {
        let mut sets = world.replica_sets.iter();
        let set = sets.find(|set| set.template.hash == back.to.to);
        back.template = set.map(|set| set.template.json.clone());
        state.back = Some(back);
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
    let asked =
        Asked { job: detail.as_ref(), seen, not_made: None, now: world.now, deadline: DEADLINE };
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
