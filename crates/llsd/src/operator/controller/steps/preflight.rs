//! The preflight of a change by its own image, before running pods are replaced: what its Job says, and the
//! creation of that Job. Pods are looked at only while a Job goes on.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use llsd_plan::live::LiveObject;
use llsd_plan::objects::preflight_job::{ClaimUse, PreflightJob, claim_use};
use llsd_plan::objects::{ObjectKind, PlannedObject, labels};
use llsd_plan::plan::Plan;
use llsd_plan::resource::{Key, Resource};
use llsd_plan::rollout::preflight::{self, Asked, NotMade, Preflight, Question, Seen, State};
use llsd_plan::rollout::{ClusterState, Refused, WriteFailure, shared};

use super::writer::{Creation, Writer};
use crate::operator::controller::context::Context;
use crate::operator::controller::state::failure;

/// The label by which Kubernetes knows the pods of a Job.
const JOB_NAME: &str = "batch.kubernetes.io/job-name";
/// So much later than the operator does the cluster give up on a Job.
const AFTERWARDS: i64 = 60;

/// What is known of the preflight of the planned Deployment; nothing where none is needed.
pub async fn look(
    context: &Context,
    resource: &Resource,
    plan: &Plan,
    planned: &PlannedObject,
    state: &ClusterState,
) -> Result<Option<Preflight>, WriteFailure> {
    let Some(whole) = &state.deployment else { return Ok(None) };
    let Some(question) = Question::for_change(resource, planned, whole) else { return Ok(None) };
    let mut objects = state.objects.iter();
    let job = objects.find(|live| live.is_named(ObjectKind::Job, &question.job) && !live.deleting);
    let is_asked = question.remembered.is_none() && !question.is_skipped;
    let seen = match job.filter(|_| is_asked) {
        Some(job) => match Seen::from_pods(&pods(context, resource, &question.job).await?) {
            Seen::NoPod => not_created(context, resource, job).await,
            seen => seen,
        },
        None => Seen::NoPod,
    };
    let needs_job = is_asked && job.is_none();
    let urgency = question.urgency(state.counterpart(planned));
    let asked = Asked {
        job: job.and_then(LiveObject::job),
        seen,
        not_made: context.memory.job_not_made(&resource.key, &question.job),
        has_slot: needs_job
            && context.ask_for_slot(&resource.key, question.since(state.now), urgency),
        now: state.now,
        deadline: seconds(context),
    };
    let field = |path: &str| preflight::field_of(resource, plan, path);
    Ok(Some(preflight::decide(&question, &asked, field)))
}

/// Creates the Job of a change that needs a preflight and has a slot for it. One that cannot be created is tried
/// again.
pub async fn start<W: Writer>(
    context: &Context,
    writer: &mut W,
    resource: &Resource,
    plan: &Plan,
    preflight: &Preflight,
    state: &ClusterState,
) {
    if !matches!(preflight.state, State::ToBeAsked(_)) {
        return;
    }
    let made = create(context, writer, resource, plan, &preflight.job, state).await;
    match &made {
        Ok(()) => context.preflight_slots.job_made(&resource.key),
        Err(WriteFailure { object, message, .. }) => {
            tracing::warn!(resource = %resource.key, object, why = message, "not made");
        }
    }
    let made = made.map_err(|WriteFailure { message, refused, .. }| NotMade {
        why: message,
        is_denied: matches!(refused, Refused::Denied | Refused::Forbidden | Refused::Invalid),
    });
    context.memory.set_job_made(&resource.key, &preflight.job, made);
}

async fn create<W: Writer>(
    context: &Context,
    writer: &mut W,
    resource: &Resource,
    plan: &Plan,
    job: &str,
    state: &ClusterState,
) -> Result<(), WriteFailure> {
    let template = plan.objects.deployment.spec.as_ref().map(|spec| &spec.template);
    let Some(template) = template else { return Ok(()) };
    let claims = claims(plan, &state.objects);
    let binds = claims.values().any(|claim| *claim == ClaimUse::OnTheirNode);
    let node = if binds { node(context, &resource.key, job).await? } else { None };
    let preflight = PreflightJob {
        resource,
        template,
        hash: job.rsplit('-').next().unwrap_or_default(),
        shapes: &plan.preflight_inputs.shapes,
        claims: &claims,
        node: node.as_deref(),
        seconds: seconds(context) + AFTERWARDS,
    };
    let known = context.cache.shared(&resource.key.namespace);
    let is_there = |object: &PlannedObject| object.is_shared() && shared::is_in_place(&known);
    for object in preflight.objects().into_iter().filter(|object| !is_there(object)) {
        if let Creation::Exists(found) = writer.create(&object).await? {
            if LiveObject::owned_by(object.kind, &found, resource).is_none() {
                return Err(WriteFailure::not_ours(&object));
            }
            context.cache.put_object(object.kind, &found);
        }
    }
    Ok(())
}

/// How the claims can be mounted by one more pod. One that is not bound yet has nothing to be checked, and
/// would be bound by whoever comes first.
fn claims(plan: &Plan, live: &[LiveObject]) -> BTreeMap<String, ClaimUse> {
    let given = plan.preflight_inputs.claims.iter();
    let mut claims: BTreeMap<String, ClaimUse> =
        given.map(|(name, modes)| (name.clone(), claim_use(modes))).collect();
    for object in live {
        if let Some(claim) = object.claim()
            && *claim.phase == *"Bound"
        {
            claims.insert(object.name.to_string(), claim_use(&claim.access_modes));
        }
    }
    claims
}

/// What the cluster says of a pod that it does not let the Job have. An operator that may not read events does
/// not know, and waits.
async fn not_created(context: &Context, resource: &Resource, job: &LiveObject) -> Seen {
    let api: Api<Event> = Api::namespaced(context.client.clone(), &resource.key.namespace);
    let of_job = format!("regarding.uid={},reason=FailedCreate", job.uid);
    let listed = api.list(&ListParams::default().fields(&of_job)).await;
    let events = listed.map(|listed| listed.items).unwrap_or_default();
    let newest = events
        .into_iter()
        .max_by_key(|event| event.metadata.creation_timestamp.as_ref().map(|time| time.0));
    newest.and_then(|event| event.note).map_or(Seen::NoPod, Seen::NotCreated)
}

async fn pods(context: &Context, resource: &Resource, job: &str) -> Result<Vec<Pod>, WriteFailure> {
    list(context, &resource.key, &format!("{JOB_NAME}={job}"), job).await
}

/// The node of a pod that serves.
async fn node(context: &Context, key: &Key, job: &str) -> Result<Option<String>, WriteFailure> {
    let pods = list(context, key, &labels::selector_text(&key.name), job).await?;
    let mut running = pods.into_iter().filter(|pod| {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        phase == Some("Running") && pod.metadata.deletion_timestamp.is_none()
    });
    Ok(running.find_map(|pod| pod.spec?.node_name))
}

async fn list(
    context: &Context,
    key: &Key,
    selector: &str,
    job: &str,
) -> Result<Vec<Pod>, WriteFailure> {
    let api: Api<Pod> = Api::namespaced(context.client.clone(), &key.namespace);
    let listed = api.list(&ListParams::default().labels(selector)).await;
    let unread = |error| failure(&context.rights, ObjectKind::Job, job, &error);
    Ok(listed.map_err(unread)?.items)
}

fn seconds(context: &Context) -> i64 {
    i64::try_from(context.settings.preflight_deadline.as_secs()).unwrap_or(i64::MAX)
}
