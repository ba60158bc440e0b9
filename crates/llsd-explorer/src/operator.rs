//! One pass of the operator over the simulated cluster, in the steps of its pipeline: gather, plan, survey,
//! decide, apply, prune, observe, report. Whatever decides is the operator's own code; what is here only reads
//! and writes, as the steps of the controller do that wait for a real cluster.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use k8s_openapi::jiff::Timestamp;
use llsd_plan::facts::{Facts, ImageFacts, SecretFacts, SecretKeyFacts};
use llsd_plan::live::{DeploymentDetail, Detail, JobDetail, LiveObject};
use llsd_plan::objects::{ObjectKind, PlannedObject};
use llsd_plan::plan::{Plan, Planning, plan, rollback_policy};
use llsd_plan::problems::Findings;
use llsd_plan::resource::Resource;
use llsd_plan::resource::image::resolve;
use llsd_plan::rollout::preflight::{
    self, Asked, Preflight, PreflightResult, Question, Seen, State, may_need_preflight,
};
use llsd_plan::rollout::{self, Action, ClusterState, PinnedImage, Return, Rollout, RunningServer};
use llsd_plan::status::{
    self, Applied, Applying, ObservedObjects, Pass, ServerAnswer, StatusInputs, TagNow,
};
use serde_json::Value;

use crate::wish::{Mood, SECRETS, Wish, mood};
use crate::world::{Guard, Held, Job, OWNER, World};

/// How long a preflight may take, in seconds.
const DEADLINE: i64 = 600;

/// What planning made of one state of the world.
struct Planned {
    resource: Resource,
    planning: Planning,
    objects: Vec<PlannedObject>,
}

/// The resource as people wrote it, and what else planning depends on.
type Written = (Wish, i64, BTreeMap<&'static str, String>);
type Inputs = (Written, [u32; 2], u32, String, Option<i32>);

thread_local! {
    static RESOURCES: RefCell<HashMap<Written, Rc<Resource>>> = RefCell::default();
    /// Planning is pure, and few states of the world differ for it.
    static PLANS: RefCell<HashMap<Inputs, Rc<Planned>>> = RefCell::default();
}

/// Looks at the resource once, and writes what is due.
pub fn reconcile(world: &mut World) {
    let mut found = Vec::new();
    // Each time one more object is known, so this ends.
    while let Some((planned, resource, held, applied)) = decide(world, &found) {
        match write(world, &resource, &held) {
            Some(unknown) => found.push(unknown),
            None => return finish(world, &planned, &resource, &applied),
        }
    }
}

/// As [`reconcile`], but the operator stops before it writes anything.
pub fn stall(world: &mut World) {
    if let Some((_, _, held, _)) = decide(world, &[]) {
        world.stalled = Some(held);
    }
}

/// The operator that stopped goes on.
pub fn wake(world: &mut World) {
    let Some(held) = world.stalled.take() else { return };
    let resource = resource(world);
    write(world, &resource, &held);
}

type Decided = (Rc<Planned>, Resource, Held, Applied);

/// `found` are objects that no watch shows.
fn decide(world: &mut World, found: &[LiveObject]) -> Option<Decided> {
    let mut objects = world.watched();
    objects.extend(found.iter().cloned());
    objects.extend(world.jobs.iter().map(job_object));
    let planned = planned(world, &objects);
    let mut resource = planned.resource.clone();
    resource.status = world.status.clone();
    if resource.paused {
        objects.extend(world.object(ObjectKind::Deployment).map(|stored| stored.live.clone()));
        let waiting = rollout::changed_inputs(&planned.objects, &objects);
        report(world, &resource, Pass::Paused { waiting: Some(&waiting) });
        return None;
    }
    let Planning::Planned(plan) = &planned.planning else {
        take_back(world, &resource, objects);
        let pass = Pass::Reconciled { planning: &planned.planning, applying: Applying::Nothing };
        report(world, &resource, pass);
        return None;
    };
    let state = survey(world, &resource, plan, &planned.objects, objects);
    let rollout =
        rollout::decide(&resource, planned.objects.clone(), plan.image.image_override(), &state);
    let held = held(&rollout);
    let applied = Applied {
        kept: rollout.kept.clone(),
        preflight: rollout.preflight.cloned().map(Box::new),
        warnings: rollout.warnings.clone(),
        ..Applied::default()
    };
    drop(rollout);
    Some((planned, resource, held, applied))
}

/// Takes a rollout back that failed, although nothing can be planned now.
fn take_back(world: &mut World, resource: &Resource, objects: Vec<LiveObject>) {
    let live = objects.iter().find(|live| live.kind == ObjectKind::Deployment);
    let policy = rollback_policy(resource, Facts::default().operator.rollback);
    let back = live.and_then(|live| rollout::failed_rollout(live, policy, world.now));
    let Some(mut back) = back else { return };
    back.template = world.template_of(&back.to.to);
    let deployment = world.deployment().cloned();
    let (now, back) = (world.now, Some(back));
    let state = ClusterState { objects, deployment, back, now, ..ClusterState::default() };
    if let Some(rollout) = rollout::decide_unplanned(resource, &state) {
        let held = held(&rollout);
        write(world, resource, &held);
    }
}

/// What a rollout writes.
fn held(rollout: &Rollout<'_>) -> Held {
    let mut writes = Vec::new();
    for decision in &rollout.decisions {
        let guard = match decision.action {
            Action::Create => None,
            Action::Update(live) | Action::Adopt(live) | Action::Mark(live) => {
                let version = live.kind.follows_rules().then_some(live.version);
                Some(Guard { uid: live.uid.to_string(), version })
            }
            Action::Leave | Action::Wait | Action::Refuse => continue,
        };
        writes.push((decision.object.clone(), guard));
    }
    Held { writes }
}

/// What the cluster holds of the planned objects.
fn survey(
    world: &World,
    resource: &Resource,
    plan: &Plan,
    planned: &[PlannedObject],
    objects: Vec<LiveObject>,
) -> ClusterState {
    let still_read = rollout::still_read(&objects, &facts(world, String::new()));
    let mut state = ClusterState { objects, still_read, now: world.now, ..ClusterState::default() };
    let deployment = planned.iter().find(|object| object.kind == ObjectKind::Deployment);
    let Some(deployment) = deployment else { return state };
    let image_override = plan.image.image_override();
    let (live, now) = (state.counterpart(deployment), state.now);
    let keeps = rollout::keeps_template(resource, deployment, image_override, live);
    let back = rollout::returns_to(resource, deployment, image_override, plan.rollback, live, now);
    if let Some(mut back) = back {
        back.template = world.template_of(&back.to.to);
        if let Some(detail) = live.and_then(LiveObject::deployment).cloned() {
            state.take_return(back, &detail);
        }
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
        None => Seen::NoPod,
        Some(job) if job.created == world.now => Seen::Running,
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
    JobDetail { created: job.created, active: 1, ended: None }
}

fn job_object(job: &Job) -> LiveObject {
    LiveObject {
        kind: ObjectKind::Job,
        name: job.name.as_str().into(),
        uid: job.name.as_str().into(),
        version: 1,
        controller: Some(OWNER.into()),
        controlled_by_us: true,
        fingerprint: None,
        answered: None,
        created: job.created,
        deleting: false,
        detail: Detail::Job(job_detail(job)),
    }
}

/// Writes what was decided; an object that is there unknown stops it.
fn write(world: &mut World, resource: &Resource, held: &Held) -> Option<LiveObject> {
    for (object, guard) in &held.writes {
        match guard {
            None => {
                let Err(found) = world.create(object) else { continue };
                let live = LiveObject::owned_by(object.kind, &found, resource);
                let live = live?;
                if object.kind.follows_rules() {
                    return Some(live);
                }
                let again = rollout::Decision::for_object(resource, object.clone(), Some(&live));
                if let Action::Update(live) | Action::Adopt(live) = again.action {
                    let guard = Guard { uid: live.uid.to_string(), version: None };
                    let _ = world.update(&again.object, &guard);
                }
            }
            Some(guard) => {
                // A conflict: another pass decides again.
                world.update(object, guard).ok()?;
            }
        }
    }
    None
}

/// Starts the preflight that the plan waits for, prunes, observes and reports.
fn finish(world: &mut World, planned: &Planned, resource: &Resource, applied: &Applied) {
    let preflight = applied.preflight.as_deref();
    let needed = preflight.filter(|preflight| !preflight.is_recorded).map(|it| it.job.clone());
    world.jobs.retain(|job| Some(&job.name) == needed.as_ref());
    if let Some(Preflight { job, state: State::ToBeAsked(_), .. }) = preflight {
        let mut objects = planned.objects.iter();
        let deployment = objects.find(|object| object.kind == ObjectKind::Deployment);
        let mood = deployment.map_or(Mood::Good, |it| mood(&it.json["spec"]["template"]));
        world.jobs.push(Job { name: job.clone(), created: world.now, mood });
    }
    let pass =
        Pass::Reconciled { planning: &planned.planning, applying: Applying::Applied(applied) };
    report(world, resource, pass);
}

fn report(world: &mut World, resource: &Resource, pass: Pass<'_>) {
    let deployment = world.object(ObjectKind::Deployment);
    let detail = deployment.and_then(|stored| stored.live.deployment());
    let rolled_back = detail.and_then(|detail| detail.rolled_back.as_deref());
    let live = ObservedObjects {
        deployment: detail.map(|detail| detail.state.clone()),
        rolled_back: rolled_back.map(Return::parse),
        service: world.object(ObjectKind::Service).is_some(),
        ..ObservedObjects::default()
    };
    let update = status::compute(&StatusInputs {
        resource,
        now: Timestamp::from_second(world.now).unwrap_or_default(),
        operator_version: "0",
        distributions: &BTreeMap::new(),
        pass,
        live: &live,
        server: &ServerAnswer::NotAsked,
        tag: &TagNow::Unmoved,
        limitations: &[],
    });
    world.status = serde_json::to_value(&update.status).unwrap_or_default();
}

fn written(world: &World) -> Written {
    (world.wish, world.generation, world.annotations.clone())
}

/// The resource as the operator reads it, without its status.
fn resource(world: &World) -> Rc<Resource> {
    RESOURCES.with_borrow_mut(|known| {
        let parse = || Rc::new(Resource::parse(&world.resource()));
        Rc::clone(known.entry(written(world)).or_insert_with(parse))
    })
}

/// What is planned for the world as it is.
fn planned(world: &World, objects: &[LiveObject]) -> Rc<Planned> {
    let resource = resource(world);
    let digest = digest(world, &resource, objects);
    let facts = facts(world, digest.clone());
    let serving = facts.listening.as_ref().map(|listening| listening.port);
    let inputs = (written(world), world.secrets, world.key, digest, serving);
    if let Some(known) = PLANS.with_borrow(|plans| plans.get(&inputs).cloned()) {
        return known;
    }
    let planning = plan(&resource, &facts);
    let objects = match &planning {
        Planning::Planned(plan) => plan.objects.in_order(),
        _ => Vec::new(),
    };
    let objects = objects.into_iter().filter(|object| is_of_interest(object.kind)).collect();
    let resource = Resource::clone(&resource);
    let planned = Rc::new(Planned { resource, planning, objects });
    PLANS.with_borrow_mut(|plans| plans.insert(inputs, Rc::clone(&planned)));
    planned
}

/// The kinds that a rule beside "as it is planned" applies to, and what leads to the pods.
fn is_of_interest(kind: ObjectKind) -> bool {
    matches!(
        kind,
        ObjectKind::Deployment
            | ObjectKind::Service
            | ObjectKind::NetworkPolicy
            | ObjectKind::Ingress
    )
}

fn facts(world: &World, digest: String) -> Facts {
    let secret = |(name, value): (&str, u32)| {
        let hash = format!("{}-{name}-{value}", world.key);
        let facts = SecretKeyFacts { hash, ..SecretKeyFacts::default() };
        (
            name.to_owned(),
            SecretFacts { keys: [("token".to_owned(), facts)].into(), ..<_>::default() },
        )
    };
    Facts {
        complete: true,
        listening: world
            .object(ObjectKind::Deployment)
            .and_then(|stored| stored.live.deployment())
            .and_then(DeploymentDetail::serving),
        hash_key: Some(world.key.to_string()),
        image: ImageFacts { digest: Some(digest), inspected: true, ..ImageFacts::default() },
        secrets: SECRETS.into_iter().zip(world.secrets).map(secret).collect(),
        owner_uid: Some(OWNER.to_owned()),
        ..Facts::default()
    }
}

/// The digest of the image: the one that runs while nothing asks for another.
fn digest(world: &World, resource: &Resource, objects: &[LiveObject]) -> String {
    let now = format!("sha256:{:064x}", world.digest);
    let running = RunningServer::find(resource, objects);
    let facts = Facts::default();
    let spec = resource.spec.as_ref();
    let wanted = spec
        .and_then(|spec| resolve(&spec.distribution, &facts.operator, &mut Findings::default()));
    match wanted.and_then(|wanted| running.running(&wanted)) {
        Some(PinnedImage::Digest(digest)) if running.keeps_image() => digest,
        _ => now,
    }
}
