//! Events about pods, in the words of a kubelet and a scheduler.

use std::hash::{DefaultHasher, Hash, Hasher};

use k8s_openapi::{
    api::core::v1::{Event, EventSource, ObjectReference, Pod},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
    jiff::Timestamp,
};
use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::json;

use crate::probe::Kind;

/// What an Event says, without the pod that it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    by: &'static str,
    kind: &'static str,
    reason: &'static str,
    message: String,
}

/// A probe failed once.
pub(crate) fn unhealthy(probe: Kind, met: &str) -> Told {
    let message = format!("{probe:?} probe failed: {met}");
    Told { by: "kubelet", kind: "Warning", reason: "Unhealthy", message }
}

/// A probe failed so often that the container is restarted.
pub(crate) fn killing(container: &str, probe: Kind) -> Told {
    let probe = format!("{probe:?}").to_lowercase();
    let message = format!("Container {container} failed {probe} probe, will be restarted");
    Told { by: "kubelet", kind: "Normal", reason: "Killing", message }
}

/// No node has room for a pod.
pub(crate) fn failed_scheduling(message: String) -> Told {
    Told { by: "default-scheduler", kind: "Warning", reason: "FailedScheduling", message }
}

/// The Event about a pod, or about a field of it. The same words have the same name, and are counted.
pub(crate) fn event(pod: &Pod, told: &Told, field: Option<&str>) -> Event {
    let now = Some(Time(Timestamp::now()));
    let mut hasher = DefaultHasher::new();
    (pod.uid(), field, told.reason, &told.message).hash(&mut hasher);
    Event {
        metadata: ObjectMeta {
            name: Some(format!("{}.{:016x}", pod.name_any(), hasher.finish())),
            namespace: pod.namespace(),
            ..ObjectMeta::default()
        },
        involved_object: ObjectReference {
            api_version: Some("v1".into()),
            kind: Some("Pod".into()),
            name: Some(pod.name_any()),
            namespace: pod.namespace(),
            uid: pod.uid(),
            field_path: field.map(str::to_owned),
            ..ObjectReference::default()
        },
        type_: Some(told.kind.into()),
        reason: Some(told.reason.into()),
        message: Some(told.message.clone()),
        source: Some(EventSource { component: Some(told.by.into()), host: None }),
        first_timestamp: now.clone(),
        last_timestamp: now,
        count: Some(1),
        ..Event::default()
    }
}

/// Creates the Event, or increases the count of the one that exists. A failure is ignored: no pod depends on an Event.
pub(crate) async fn send(client: Client, event: Event) {
    let events: Api<Event> = Api::namespaced(client, &event.namespace().unwrap_or_default());
    if events.create(&PostParams::default(), &event).await.is_ok() {
        return;
    }
    let name = event.name_any();
    if let Ok(Some(known)) = events.get_opt(&name).await {
        let count = known.count.unwrap_or(1) + 1;
        let again = json!({ "count": count, "lastTimestamp": event.last_timestamp });
        let _ = events.patch(&name, &PatchParams::default(), &Patch::Merge(again)).await;
    }
}
