//! What is there once the plan is applied: the objects as the cluster holds them, what keeps a pod
//! from running, and what the server answered last.

use std::collections::BTreeMap;
use std::time::Duration;

use llsd_plan::live::installation::installations;
use llsd_plan::live::{DeploymentDetail, DeploymentState, Detail, LiveObject};
use llsd_plan::objects::{ObjectKind, names};
use llsd_plan::plan::Plan;
use llsd_plan::resource::{Key, Resource};
use llsd_plan::rollout::{self, Return};
use llsd_plan::status::{self, ObservedObjects, ServerAnswer};
use llsd_plan::values::quantity::nanos;

use super::pods;
use crate::operator::backoff::jittered;
use crate::operator::controller::context::Context;
use crate::operator::controller::servers::{LastAnswer, Target};
use crate::operator::controller::state::{Denials, Unready};
use crate::operator::telemetry::traces::TARGET;

/// Looks are later by up to this part, each by another: servers that became unready together are not all looked at
/// together.
const SPREAD: f64 = 0.2;

/// The kind of trouble of pods that wait for models.
const MODELS: &str = "models";

/// So long the status of a server that has just become ready waits for its first answer, to be written
/// once and not twice.
const FIRST_ANSWER: Duration = Duration::from_secs(2);

/// What is there now.
#[derive(Clone, Debug)]
pub struct Observation {
    pub live: ObservedObjects,
    pub server: ServerAnswer,
    /// For how long nothing new was seen of a server that is not ready.
    quiet_for: Option<Duration>,
    /// When its rollout fails by time alone, which is no event.
    fails_in: Option<Duration>,
    /// For how long the server's first answer has been awaited.
    awaited: Option<Duration>,
}

/// Looks at the objects, at the pods of the newest template where they take long, and at what the server answered
/// last.
#[tracing::instrument(target = TARGET, level = "trace", skip_all)]
pub async fn observe(
    context: &Context,
    resource: &Resource,
    plan: Option<&Plan>,
    objects: &[LiveObject],
    denials: &Denials<'_>,
) -> kube::Result<Observation> {
    let key = &resource.key;
    let exposed = plan
        .map_or_else(|| resource.status["routeURL"].is_string(), |plan| plan.objects.is_exposed());
    let mut live = live(key, objects, exposed);
    // While pods of the template before serve, those of the new one may be in trouble.
    let is_ready = live.deployment.as_ref().is_some_and(DeploymentState::is_complete);
    let installs = plan.is_some_and(|plan| !plan.external.is_empty()) && !is_ready;
    let is_late = context.memory.unready_for(key, is_ready) >= Unready::PATIENCE;
    let deployment = objects.iter().find(|live| !live.deleting && live.deployment().is_some());
    if let Some(deployment) = deployment.filter(|_| is_late || installs) {
        let listed = pods::of_current_template(context, key, deployment).await;
        let pods = denials.tolerate(listed)?.unwrap_or_default();
        if is_late {
            let state = live.deployment.as_ref();
            let is_overdue = state.is_some_and(|state| state.stuck.is_some());
            let words = if is_overdue { status::overdue_trouble } else { status::pod_trouble };
            live.pod_trouble = pods::trouble(context, key, &pods, words).await;
            live.models_awaited = pods.iter().find_map(status::models_awaited);
        }
        live.installations = pods.first().map(installations).unwrap_or_default();
    }
    let LastAnswer { server, awaited } = last_answer(context, resource, &live, plan);
    let generation = live.deployment.as_ref().map_or(0, |deployment| deployment.generation);
    let trouble = live.models_awaited.as_ref().map(|_| MODELS).or(live.pod_trouble.as_deref());
    let quiet_for = (!is_ready).then(|| context.memory.quiet_for(key, generation, trouble));
    let now = context.clock.now().as_second();
    let fails_in = deployment.and_then(|live| rollout::fails_in(live.deployment()?, now));
    let fails_in = fails_in.map(|seconds| Duration::from_secs(seconds.unsigned_abs()));
    Ok(Observation { live, server, quiet_for, fails_in, awaited })
}

/// Of a resource that is being deleted, or cannot be planned, only the objects count.
pub fn of_objects(resource: &Resource, objects: &[LiveObject]) -> Observation {
    let live = live(&resource.key, objects, false);
    let quiet_for = Some(Duration::ZERO);
    Observation { live, server: ServerAnswer::NotAsked, quiet_for, fails_in: None, awaited: None }
}

impl Observation {
    /// How soon to look again, where what is there may change without an event.
    pub fn next_look(&self) -> Option<Duration> {
        let look = jittered(Unready::next_look(self.quiet_for?), SPREAD);
        Some(self.fails_in.map_or(look, |fails| look.min(fails)))
    }

    /// How long the status can wait, because the server of a resource that was not ready is about to
    /// answer; its answer wakes the resource.
    pub fn answers_soon(&self, resource: &Resource) -> Option<Duration> {
        let is_told = resource.status["phase"] == "Ready";
        let awaited = self.awaited.filter(|_| self.quiet_for.is_none() && !is_told)?;
        FIRST_ANSWER.checked_sub(awaited).filter(|rest| !rest.is_zero())
    }
}

/// The owned objects as the status reports them.
fn live(key: &Key, objects: &[LiveObject], exposed: bool) -> ObservedObjects {
    let alive = || objects.iter().filter(|object| !object.deleting);
    let mut outside = alive().filter_map(|object| match &object.detail {
        Detail::Outside { url, .. } => url.as_deref(),
        _ => None,
    });
    let mut not_admitted = alive().filter_map(|object| match &object.detail {
        Detail::Outside { refused: Some(why), .. } => {
            Some(format!("{} {}: {why}", object.kind.name(), object.name))
        }
        _ => None,
    });
    let service = names::service(&key.name);
    let claims = || alive().filter_map(LiveObject::claim);
    let deployment = alive().find_map(LiveObject::deployment);
    let rolled_back = deployment.and_then(|detail| detail.rolled_back.as_deref());
    ObservedObjects {
        deployment: deployment.map(|detail| detail.state.clone()),
        rolled_back: rolled_back.map(Return::parse),
        serves_open: deployment.is_some_and(DeploymentDetail::serves_open),
        service: alive().any(|object| object.is_named(ObjectKind::Service, &service)),
        claim: claims().map(|claim| claim.phase.to_string()).next(),
        claim_grows: claims()
            .find(|claim| grows(&claim.capacity, &claim.size))
            .map(|claim| (claim.capacity.to_string(), claim.size.to_string())),
        outside_url: exposed.then(|| outside.next().unwrap_or_default().to_owned()),
        not_admitted: not_admitted.next().filter(|_| exposed),
        models_awaited: None,
        installations: BTreeMap::new(),
        pod_trouble: None,
    }
}

/// Whether more is asked for than a volume has; one that is not bound yet has nothing.
fn grows(has: &str, asked: &str) -> bool {
    nanos(has).zip(nanos(asked)).is_some_and(|(has, asked)| asked > has)
}

/// What the server answered last, if a pod of it is ready.
fn last_answer(
    context: &Context,
    resource: &Resource,
    live: &ObservedObjects,
    plan: Option<&Plan>,
) -> LastAnswer {
    let key = &resource.key;
    let url = plan.map(|plan| plan.url.as_str());
    let url = url.or_else(|| resource.status["serviceURL"].as_str());
    let deployment = live.deployment.as_ref().filter(|deployment| deployment.ready > 0);
    let (Some(url), Some(deployment)) = (url, deployment) else {
        context.servers.forget(key);
        return LastAnswer { server: ServerAnswer::NotAsked, awaited: None };
    };
    let target = Target::new(url, resource.certificate_secret(), deployment)
        .asking_callers(resource.asks_callers() && !live.serves_open);
    context.servers.last_answer(key, target)
}
