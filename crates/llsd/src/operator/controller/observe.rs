//! What is there once the plan is applied: the objects as the cluster holds them, what keeps a pod
//! from running, and what the server answers.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::{Api, Client};
use llsd_plan::live::{Detail, LiveObject};
use llsd_plan::objects::{ObjectKind, labels, names};
use llsd_plan::plan::Plan;
use llsd_plan::resource::{Key, Resource};
use llsd_plan::status::{self, Live, Server};

use super::context::Context;

/// After this time without readiness it is asked why.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is there now.
#[derive(Clone, Debug)]
pub struct Observation {
    pub live: Live,
    pub server: Server,
    is_ready: bool,
    /// How often in a row the server could not be reached.
    unreachable: u32,
}

/// Looks at the objects, at the pods where they take long, and at the server where one is ready.
pub async fn observe(
    context: &Context,
    resource: &Resource,
    plan: Option<&Plan>,
) -> kube::Result<Observation> {
    let key = &resource.key;
    let exposed = plan
        .map_or_else(|| resource.status["routeURL"].is_string(), |plan| plan.objects.is_exposed());
    let mut live = live(key, &context.cache.live(key), exposed);
    let is_ready = is_ready(&live);
    if context.memory.unready_for(key, is_ready) >= PATIENCE && live.deployment.is_some() {
        live.pod_trouble = pod_trouble(&context.client, key).await?;
    }
    let (server, unreachable) = ask(context, resource, &live, plan).await;
    Ok(Observation { live, server, is_ready, unreachable })
}

/// Of a resource that is being deleted only the objects count.
pub fn of_deleted(resource: &Resource, objects: &[LiveObject]) -> Observation {
    let live = live(&resource.key, objects, false);
    Observation { live, server: Server::NotAsked, is_ready: false, unreachable: 0 }
}

impl Observation {
    /// How soon to look again, where what is there may change without an event.
    pub fn next_look(&self) -> Option<Duration> {
        if !self.is_ready {
            return Some(PATIENCE);
        }
        // A server that has just started; later, one that this operator cannot reach at all.
        (self.unreachable > 0).then(|| Duration::from_secs(5 << self.unreachable.min(6)))
    }
}

/// The owned objects as the status reports them.
fn live(key: &Key, objects: &[LiveObject], exposed: bool) -> Live {
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
    Live {
        deployment: alive().find_map(LiveObject::deployment).map(|detail| detail.state.clone()),
        service: alive().any(|object| object.is_named(ObjectKind::Service, &service)),
        claim: alive().find_map(|object| match &object.detail {
            Detail::Claim { phase, .. } => Some(phase.to_string()),
            _ => None,
        }),
        outside_url: exposed.then(|| outside.next().unwrap_or_default().to_owned()),
        not_admitted: not_admitted.next().filter(|_| exposed),
        pod_trouble: None,
    }
}

fn is_ready(live: &Live) -> bool {
    live.deployment.as_ref().is_some_and(|deployment| {
        deployment.observed_generation >= deployment.generation
            && deployment.available >= deployment.wanted
            && deployment.updated >= deployment.wanted
    })
}

/// What keeps the newest pod that has trouble from running.
async fn pod_trouble(client: &Client, key: &Key) -> kube::Result<Option<String>> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), &key.namespace);
    let selector: Vec<String> = labels::selector(&key.name)
        .into_iter()
        .map(|(label, value)| format!("{label}={value}"))
        .collect();
    let mut listed = pods.list(&ListParams::default().labels(&selector.join(","))).await?.items;
    listed.sort_by_key(|pod| {
        std::cmp::Reverse(pod.metadata.creation_timestamp.as_ref().map(|time| time.0))
    });
    Ok(listed.iter().find_map(status::pod_trouble))
}

/// Asks the server, if a pod of it is ready; how often in a row it could not be reached.
async fn ask(
    context: &Context,
    resource: &Resource,
    live: &Live,
    plan: Option<&Plan>,
) -> (Server, u32) {
    let (key, memory) = (&resource.key, &context.memory);
    let url = plan.map(|plan| plan.url.as_str());
    let url = url.or_else(|| resource.status["serviceURL"].as_str());
    let ready = live.deployment.as_ref().is_some_and(|deployment| deployment.ready > 0);
    let Some(url) = url.filter(|_| ready) else {
        memory.not_asked(key);
        return (Server::NotAsked, 0);
    };
    let secret = resource.certificate_secret();
    let certificate = context.certificate(key, secret);
    let server = context.server_probe.ask(key, url, certificate.as_deref()).await;
    let unreachable = memory.asked(key, url, secret, &server);
    (server, unreachable)
}
