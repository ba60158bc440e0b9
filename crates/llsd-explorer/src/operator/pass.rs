//! The steps in order.

use std::rc::Rc;

use llsd_plan::live::LiveObject;
use llsd_plan::objects::ObjectKind;
use llsd_plan::plan::{Plan, Planning};
use llsd_plan::resource::Resource;
use llsd_plan::rollout::preflight::{Preflight, State};
use llsd_plan::rollout::{self, Rollout, WriteFailure};
use llsd_plan::status::{Applied, Applying, Pass};
use serde_json::Value;

use super::planning::{Planned, facts_without_image, planned};
use super::report::report;
use super::survey::{DEADLINE, job_object, survey, survey_failed};
use super::write::{Outcome, of_decision, write};
use crate::world::{Given, Held, Job, Rest, Template, World};

/// So long pods must have been available for their template to be a good one, in seconds.
const GOOD_AFTER: i64 = 60;

/// Looks at the resource once, and writes what is due. Where nothing has changed since the operator last had
/// nothing to do, and no time has run out, it has nothing to do again.
pub fn reconcile(world: &mut World) {
    let is_known = |rest: &Rest| {
        rest.revision == world.revision && world.now < rest.until && rest.given == world.given
    };
    if !world.given.exists || world.rest.as_ref().is_some_and(is_known) {
        return;
    }
    let before = world.revision;
    pass(world);
    world.rest = (world.revision == before).then(|| Rest {
        given: world.given.clone(),
        revision: world.revision,
        until: next_time(world),
    });
}

/// When the operator may decide otherwise although nothing changes.
fn next_time(world: &World) -> i64 {
    let deployment = world.object(ObjectKind::Deployment).and_then(|it| it.live.deployment());
    let of_deployment = deployment.map(|live| {
        [
            live.available_since.map(|since| since + GOOD_AFTER),
            live.completed_at.map(|since| since + GOOD_AFTER),
            live.unavailable_since.map(|since| since + live.deadline),
        ]
    });
    let of_jobs = world.jobs.iter().map(|job| job.created + DEADLINE);
    let times = of_deployment.into_iter().flatten().flatten().chain(of_jobs);
    times.filter(|time| *time > world.now).min().unwrap_or(i64::MAX)
}

fn pass(world: &mut World) {
    let mut found = Vec::new();
    // Each time one more object is known, so this ends.
    while let Some(decided) = decide(world, &found) {
        match write(world, &decided.held) {
            Outcome::Found(unknown) => found.push(unknown),
            Outcome::Written { failure, is_stopped } => {
                return finish(world, &decided, failure.as_ref(), is_stopped);
            }
        }
    }
}

/// As [`reconcile`], but the operator stops before it writes anything.
pub fn stall(world: &mut World) {
    let seen = world.volume_seen;
    if world.given.exists
        && let Some(Decided { held, .. }) = decide(world, &[])
    {
        world.stalled = Some(Rc::new(held));
        // The operator read the resource, but did not act on it: another one has to.
        world.volume_seen = seen;
    }
}

/// The operator that stopped goes on; says what it had decided from.
pub fn wake(world: &mut World) -> Option<Given> {
    let held = world.stalled.take()?;
    write(world, &held);
    Some(held.given.clone())
}

struct Decided {
    planned: Rc<Planned>,
    resource: Resource,
    held: Held,
    applied: Applied,
}

/// `found` are objects that no watch shows.
fn decide(world: &mut World, found: &[LiveObject]) -> Option<Decided> {
    world.look();
    let mut objects = world.watched();
    objects.extend(found.iter().cloned());
    objects.extend(world.jobs.iter().map(job_object));
    let planned = planned(world, &objects);
    let mut resource = Resource::clone(&planned.resource);
    resource.status = (*world.status).clone();
    if resource.paused {
        release_claims(world, &resource, &objects);
        let waiting = rollout::changed_inputs(&planned.objects, &objects);
        report(world, &resource, Pass::Paused { waiting: Some(&waiting) });
        return None;
    }
    world.is_unplanned = !matches!(planned.planning, Planning::Planned(_));
    let Planning::Planned(plan) = &planned.planning else {
        release_claims(world, &resource, &objects);
        if !take_back(world, &planned, &resource, objects.clone()) {
            follow_pods(world, &planned, &resource, &objects);
        }
        let pass = Pass::Reconciled { planning: &planned.planning, applying: Applying::Nothing };
        report(world, &resource, pass);
        return None;
    };
    let (held, applied) = roll_out(world, &planned, plan, &resource, objects);
    Some(Decided { planned, resource, held, applied })
}

/// Takes a rollout back that failed, although nothing can be planned now. Says whether there was one.
fn take_back(
    world: &mut World,
    planned: &Planned,
    resource: &Resource,
    objects: Vec<LiveObject>,
) -> bool {
    let state = survey_failed(world, resource, objects);
    let rollout = state.as_ref().and_then(|state| rollout::decide_unplanned(resource, state));
    let is_one = rollout.is_some();
    if let Some(rollout) = rollout {
        carry_out(world, planned, rollout);
    }
    is_one
}

/// Has what leads to the pods follow those that serve, although nothing can be planned now.
fn follow_pods(world: &mut World, planned: &Planned, resource: &Resource, objects: &[LiveObject]) {
    let facts = facts_without_image(world, resource);
    let astray = rollout::led_astray(resource, &facts, objects);
    let whole = astray.into_iter().filter_map(|live| world.object(live.kind));
    let whole: Vec<Value> = whole.map(|stored| Value::clone(&stored.json)).collect();
    let rollout = rollout::decide_surroundings(resource, &facts, objects, &whole);
    carry_out(world, planned, rollout);
}

fn carry_out(world: &mut World, planned: &Planned, rollout: Rollout<'_>) {
    let writes = rollout.decisions.into_iter().filter_map(of_decision).collect();
    let (resource, given) = (Rc::clone(&planned.resource), world.given.clone());
    write(world, &Held { resource, given, writes });
}

fn roll_out(
    world: &mut World,
    planned: &Planned,
    plan: &Plan,
    resource: &Resource,
    objects: Vec<LiveObject>,
) -> (Held, Applied) {
    let state = survey(world, resource, plan, &planned.objects, objects);
    // What the operator has left as it is, and what is the same since then, it leaves again.
    let left = std::mem::take(&mut world.left);
    let is_left = |live: &LiveObject| left.contains(&(planned.id, live.kind, live.version));
    let asked = planned.objects.iter().filter(|object| {
        object.kind.follows_rules() || !state.counterpart(object).is_some_and(is_left)
    });
    let asked = asked.cloned().collect();
    let mut rollout = rollout::decide(resource, asked, plan.image.image_override(), &state);
    let decisions = std::mem::take(&mut rollout.decisions);
    let writes: Vec<_> = decisions.into_iter().filter_map(of_decision).collect();
    let is_untouched = |live: &&LiveObject| !writes.iter().any(|it| it.object.kind == live.kind);
    let untouched = state.objects.iter().filter(is_untouched);
    world.left = untouched.map(|live| (planned.id, live.kind, live.version)).collect();
    let applied = Applied {
        kept: rollout.kept.clone(),
        preflight: rollout.preflight.cloned().map(Box::new),
        warnings: rollout.warnings.clone(),
        ..Applied::default()
    };
    let (resource, given) = (Rc::clone(&planned.resource), world.given.clone());
    (Held { resource, given, writes }, applied)
}

/// Claims that are to outlive the resource are nobody's, also where nothing is planned.
fn release_claims(world: &mut World, resource: &Resource, objects: &[LiveObject]) {
    for claim in rollout::bound_to_resource(resource, objects) {
        world.disown(claim.kind, &claim.name);
    }
}

/// Starts the preflight that the plan waits for, prunes, observes and reports.
fn finish(world: &mut World, decided: &Decided, failure: Option<&WriteFailure>, is_stopped: bool) {
    let Decided { planned, resource, applied, .. } = decided;
    let preflight = applied.preflight.as_deref();
    if failure.is_none() {
        world.volume_seen = world.given.wish.volume;
        let needed = preflight.filter(|preflight| !preflight.is_recorded);
        let before = world.jobs.len();
        world.jobs.retain(|job| needed.is_some_and(|needed| needed.job == job.name));
        world.revision += u64::from(world.jobs.len() != before);
    }
    if let Some(Preflight { job, state: State::ToBeAsked(_), .. }) = preflight
        && !is_stopped
    {
        start_preflight(world, planned, job);
    }
    let applying = failure.map_or(Applying::Applied(applied), Applying::Failed);
    report(world, resource, Pass::Reconciled { planning: &planned.planning, applying });
}

fn start_preflight(world: &mut World, planned: &Planned, name: &str) {
    let mut objects = planned.objects.iter();
    let deployment = objects.find(|object| object.kind == ObjectKind::Deployment);
    let Some(deployment) = deployment else { return };
    let template = Template::read(deployment.json["spec"]["template"].clone());
    world.jobs.push(Job {
        name: name.to_owned(),
        created: world.now,
        mood: template.mood,
        image: template.image,
        resource: world.given.resource,
        has_pod: false,
        has_image: false,
    });
    world.revision += 1;
}
