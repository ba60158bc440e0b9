//! Publishes events on resources and on the operator's ConfigMap. kube's recorder keeps every event
//! for minutes to merge repeated ones; ours are only sent when something changed. They are sent one
//! after the other beside the work, so that a thousand new resources have their servers before their
//! events.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event as ClusterEvent;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use kube::api::PostParams;
use kube::{Api, Client};
use llsd_plan::resource::{Key, Resource};
use llsd_plan::status::{Event, EventKind};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::operator::controller::state::safe_message;

const CONTROLLER: &str = "llamastack.io/llama-stack-operator";
/// More than this many are not kept. The newest say how things are now, and warnings are read more than what
/// is normal: the oldest normal ones go first.
const LONGEST_QUEUE: usize = 10_000;
/// Between two events while resources wait to be worked on.
const PAUSE: Duration = Duration::from_millis(100);

/// Sends events; one that cannot be sent is logged and forgotten.
pub struct Events {
    client: Client,
    /// Which replica sends them.
    instance: String,
    sent: AtomicU32,
    waiting: Mutex<VecDeque<Waiting>>,
    /// The ConfigMap that people edit, as it was seen last.
    config_map: Mutex<Option<(Key, ObjectMeta)>>,
    added: Notify,
}

/// What an event is on.
#[derive(Clone, Copy)]
enum Subject {
    Resource,
    ConfigMap,
}

/// An event that is not sent yet.
struct Waiting {
    subject: Subject,
    key: Key,
    uid: Option<Box<str>>,
    version: Option<Box<str>>,
    at: Timestamp,
    event: Event,
}

/// Leaves at most so many: the oldest normal ones go first, then the oldest warnings.
fn make_room(waiting: &mut VecDeque<Waiting>, most: usize) {
    let mut excess = waiting.len().saturating_sub(most);
    waiting.retain(|waiting| {
        let goes = excess > 0 && waiting.event.kind == EventKind::Normal;
        excess -= usize::from(goes);
        !goes
    });
    waiting.drain(..excess);
}

impl Subject {
    fn names(self) -> (String, &'static str) {
        match self {
            Self::Resource => (format!("{}/v1alpha2", llsd_api::GROUP), llsd_api::KIND),
            Self::ConfigMap => ("v1".to_owned(), "ConfigMap"),
        }
    }
}

impl Events {
    pub fn new(client: Client, instance: String) -> Self {
        Self {
            client,
            instance,
            sent: AtomicU32::new(0),
            waiting: Mutex::default(),
            config_map: Mutex::default(),
            added: Notify::new(),
        }
    }

    /// Sent as soon as those before are.
    pub fn publish(&self, resource: &Resource, events: Vec<Event>) {
        let (uid, version) = (resource.uid.as_deref(), resource.version.as_deref());
        self.add(Subject::Resource, &resource.key, [uid, version], events);
    }

    /// The ConfigMap that people edit was seen.
    pub fn set_config_map(&self, key: &Key, metadata: &ObjectMeta) {
        *self.lock_config_map() = Some((key.clone(), metadata.clone()));
    }

    /// The same on the ConfigMap that people edit, where it was seen.
    pub fn publish_on_config_map(&self, events: Vec<Event>) {
        if let Some((key, metadata)) = self.lock_config_map().as_ref() {
            let (uid, version) = (metadata.uid.as_deref(), metadata.resource_version.as_deref());
            self.add(Subject::ConfigMap, key, [uid, version], events);
        }
    }

    fn lock_config_map(&self) -> MutexGuard<'_, Option<(Key, ObjectMeta)>> {
        self.config_map.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(
        &self,
        subject: Subject,
        key: &Key,
        [uid, version]: [Option<&str>; 2],
        events: Vec<Event>,
    ) {
        if events.is_empty() {
            return;
        }
        let at = Timestamp::now();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.extend(events.into_iter().map(|event| Waiting {
            subject,
            key: key.clone(),
            uid: uid.map(Into::into),
            version: version.map(Into::into),
            at,
            event,
        }));
        make_room(&mut waiting, LONGEST_QUEUE);
        drop(waiting);
        self.added.notify_one();
    }

    /// Sends what is published, for ever; slowly while there is other work.
    pub async fn keep_sending(&self, busy: impl Fn() -> bool) {
        loop {
            while !self.is_empty() {
                if busy() {
                    sleep(PAUSE).await;
                }
                self.send_next().await;
            }
            self.added.notified().await;
        }
    }

    /// Sends what waits.
    pub async fn send_waiting(&self) {
        while !self.is_empty() {
            self.send_next().await;
        }
    }

    async fn send_next(&self) {
        if let Some(next) = self.next() {
            let api: Api<ClusterEvent> = Api::namespaced(self.client.clone(), &next.key.namespace);
            if let Err(error) = api.create(&PostParams::default(), &self.written(&next)).await {
                let error = safe_message(&error);
                tracing::warn!(resource = %next.key, error, "an event is not published");
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    fn next(&self) -> Option<Waiting> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let next = waiting.pop_front();
        if waiting.is_empty() {
            // A burst leaves no trace in memory.
            waiting.shrink_to_fit();
        }
        next
    }

    fn written(&self, waiting: &Waiting) -> ClusterEvent {
        let Waiting { subject, key, uid, version, at, event } = waiting;
        let (api_version, kind) = subject.names();
        let number = self.sent.fetch_add(1, Ordering::Relaxed);
        let mut written = ClusterEvent {
            event_time: Some(MicroTime(*at)),
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
                api_version: Some(api_version),
                kind: Some(kind.to_owned()),
                name: Some(key.name.to_string()),
                namespace: Some(key.namespace.to_string()),
                uid: uid.as_deref().map(str::to_owned),
                resource_version: version.as_deref().map(str::to_owned),
                ..ObjectReference::default()
            }),
            ..ClusterEvent::default()
        };
        // As client-go names them: unique, and sorted by time.
        written.metadata.name = Some(format!("{}.{:x}{number:04x}", key.name, at.as_microsecond()));
        written.metadata.namespace = Some(key.namespace.to_string());
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Normal events are named by small letters.
    fn queue(names: &str) -> VecDeque<Waiting> {
        let waiting = names.chars().map(|name| Waiting {
            subject: Subject::Resource,
            key: Key::new("ns", "llama"),
            uid: None,
            version: None,
            at: Timestamp::UNIX_EPOCH,
            event: Event {
                kind: if name.is_lowercase() { EventKind::Normal } else { EventKind::Warning },
                reason: "Reason",
                note: name.to_string(),
                action: "Apply",
            },
        });
        waiting.collect()
    }

    #[test]
    fn in_a_storm_the_oldest_normal_events_go_first_and_then_the_oldest_warnings() {
        let left = |names: &str, most: usize| {
            let mut waiting = queue(names);
            make_room(&mut waiting, most);
            waiting.iter().map(|waiting| waiting.event.note.as_str()).collect::<String>()
        };
        assert_eq!(left("aBcDe", 5), "aBcDe");
        assert_eq!(left("aBcDe", 3), "BDe");
        assert_eq!(left("aBcDe", 2), "BD");
        assert_eq!(left("aBcDE", 1), "E");
    }
}
