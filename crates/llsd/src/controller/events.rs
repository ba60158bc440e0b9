//! Publishes events on a resource. kube's recorder keeps every event for minutes to merge repeated
//! ones; ours are only sent when something changed, so nothing is kept.

use std::sync::atomic::{AtomicU32, Ordering};

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event as ClusterEvent;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::PostParams;
use kube::{Api, Client};
use llsd_plan::status::{Event, EventKind};
use serde_json::Value;

use super::api_error::told;
use super::cache::Key;

const CONTROLLER: &str = "llamastack.io/llama-stack-operator";

/// Sends events; one that cannot be sent is logged and forgotten.
pub struct Events {
    client: Client,
    /// Which replica sends them.
    instance: String,
    sent: AtomicU32,
}

impl Events {
    pub fn new(client: Client, instance: String) -> Self {
        Self { client, instance, sent: AtomicU32::new(0) }
    }

    pub async fn publish(&self, key: &Key, resource: &Value, events: &[Event]) {
        let api: Api<ClusterEvent> = Api::namespaced(self.client.clone(), &key.namespace);
        for event in events {
            let event = self.written(key, resource, event);
            if let Err(error) = api.create(&PostParams::default(), &event).await {
                tracing::warn!(resource = %key, error = told(&error), "an event is not published");
            }
        }
    }

    fn written(&self, key: &Key, resource: &Value, event: &Event) -> ClusterEvent {
        let now = Timestamp::now();
        let number = self.sent.fetch_add(1, Ordering::Relaxed);
        let metadata = &resource["metadata"];
        let mut written = ClusterEvent {
            event_time: Some(MicroTime(now)),
            type_: Some(match event.kind {
                EventKind::Normal => "Normal".to_owned(),
                EventKind::Warning => "Warning".to_owned(),
            }),
            reason: Some(event.reason.to_owned()),
            action: Some(event.action.to_owned()),
            note: Some(event.note.clone()),
            reporting_controller: Some(CONTROLLER.to_owned()),
            reporting_instance: Some(self.instance.clone()),
            regarding: Some(ObjectReference {
                api_version: Some(format!("{}/v1alpha2", llsd_api::GROUP)),
                kind: Some(llsd_api::KIND.to_owned()),
                name: Some(key.name.to_string()),
                namespace: Some(key.namespace.to_string()),
                uid: metadata["uid"].as_str().map(str::to_owned),
                resource_version: metadata["resourceVersion"].as_str().map(str::to_owned),
                ..ObjectReference::default()
            }),
            ..ClusterEvent::default()
        };
        // As client-go names them: unique, and sorted by time.
        written.metadata.name =
            Some(format!("{}.{:x}{number:04x}", key.name, now.as_microsecond()));
        written.metadata.namespace = Some(key.namespace.to_string());
        written
    }
}
