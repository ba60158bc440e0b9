//! A server's pods: those of the template that its Deployment has now, or of one that failed, and what is in their
//! way. They are asked for only where a rollout takes long or goes back.

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use llsd_plan::live::LiveObject;
use llsd_plan::live::current_pods::{current_pods, newest_template};
use llsd_plan::live::probe_kill::{KilledContainer, ProbeKill};
use llsd_plan::objects::labels::{self, POD_TEMPLATE_HASH};
use llsd_plan::resource::Key;

use crate::operator::controller::context::Context;
use crate::operator::controller::state::KillCause;

/// More Events than a pod has, for Kubernetes counts those that repeat.
const MOST_EVENTS: u32 = 100;

/// What a pod's status comes to, with the probe that killed one of its containers.
type Words = fn(&Pod, Option<&ProbeKill>) -> Option<String>;

/// The pods of the template that the Deployment has now, newest first; none before Kubernetes has taken note of that
/// template.
pub async fn of_current_template(
    context: &Context,
    key: &Key,
    deployment: &LiveObject,
) -> kube::Result<Vec<Pod>> {
    let Some(state) = deployment.deployment().map(|detail| &detail.state) else {
        return Ok(Vec::new());
    };
    if !state.is_observed() {
        return Ok(Vec::new());
    }
    let own = labels::selector_text(&key.name);
    if state.replicas <= state.updated {
        return Ok(current_pods(list(context, key, &own).await?, None));
    }
    let sets: Api<ReplicaSet> = Api::namespaced(context.client.clone(), &key.namespace);
    let sets = sets.list_metadata(&ListParams::default().labels(&own)).await?.items;
    let Some(newest) = newest_template(sets.iter().map(|set| &set.metadata), &deployment.uid)
    else {
        return Ok(Vec::new());
    };
    of_template(context, key, newest).await
}

/// The pods of one template, newest first.
pub async fn of_template(context: &Context, key: &Key, hash: &str) -> kube::Result<Vec<Pod>> {
    let selector = format!("{},{POD_TEMPLATE_HASH}={hash}", labels::selector_text(&key.name));
    Ok(current_pods(list(context, key, &selector).await?, Some(hash)))
}

/// What is in the way of the first pod that has something in its way.
pub async fn trouble(context: &Context, key: &Key, pods: &[Pod], words: Words) -> Option<String> {
    for pod in pods {
        let kill = probe_kill(context, key, pod).await;
        let trouble = words(pod, kill.as_ref());
        if trouble.is_some() {
            return trouble;
        }
    }
    None
}

/// The probe for which the kubelet killed a container of a pod. Events are asked for once for each restart of such a
/// container. An operator that may not read them does not know, and says no more than the pod does.
async fn probe_kill(context: &Context, key: &Key, pod: &Pod) -> Option<ProbeKill> {
    let killed = KilledContainer::find(pod)?;
    let uid = pod.metadata.uid.as_deref()?;
    let run = format!("{uid} {} {}", killed.container, killed.restarts);
    match context.memory.kill_cause(key, &run) {
        Some(KillCause::Probe(kill)) => return Some(kill),
        Some(KillCause::Other) => return None,
        None => {}
    }
    let events: Api<Event> = Api::namespaced(context.client.clone(), &key.namespace);
    let of_pod = ListParams::default().fields(&format!("regarding.uid={uid}")).limit(MOST_EVENTS);
    let listed = events.list(&of_pod).await.ok()?;
    let kill = ProbeKill::find(&killed, &listed.items);
    let cause = kill.clone().map_or(KillCause::Other, KillCause::Probe);
    context.memory.set_kill_cause(key, &run, cause);
    kill
}

/// As the API server remembers them: what is in the way of a pod for a while may be seconds old.
async fn list(context: &Context, key: &Key, selector: &str) -> kube::Result<Vec<Pod>> {
    let pods: Api<Pod> = Api::namespaced(context.client.clone(), &key.namespace);
    Ok(pods.list(&ListParams::default().labels(selector).match_any()).await?.items)
}
