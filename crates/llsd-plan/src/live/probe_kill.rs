//! Why the kubelet killed a container. The pod's status then says "exit code 137", as for a process that the kernel
//! killed for want of memory; that a probe failed is only in an Event.

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::jiff::Timestamp;

use super::pod::ended_last;

/// 128 and SIGKILL.
const KILLED: i32 = 137;
const OUT_OF_MEMORY: &str = "OOMKilled";

/// A container that was killed, and whose status does not say why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KilledContainer {
    pub container: String,
    /// With each restart it may be for another reason.
    pub restarts: i32,
    started: Option<Timestamp>,
}

/// A probe for which the kubelet killed a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeKill {
    pub container: String,
    /// `startup` or `liveness`.
    probe: &'static str,
    /// What the probe met, in words that quote nothing.
    met: Option<String>,
}

impl KilledContainer {
    /// The first container of a pod that was killed and is not ready since.
    pub fn find(pod: &Pod) -> Option<Self> {
        let status = pod.status.as_ref()?;
        let containers = status.init_container_statuses.iter().flatten();
        let mut containers = containers.chain(status.container_statuses.iter().flatten());
        containers.find_map(Self::of_container)
    }

    fn of_container(container: &ContainerStatus) -> Option<Self> {
        let ended = ended_last(container).filter(|_| !container.ready)?;
        let is_unexplained = ended.exit_code == KILLED
            && ended.reason.as_deref().is_none_or(|reason| reason != OUT_OF_MEMORY);
        is_unexplained.then(|| Self {
            container: container.name.clone(),
            restarts: container.restart_count,
            started: ended.started_at.as_ref().map(|time| time.0),
        })
    }
}

impl ProbeKill {
    /// What the Events of its pod say of a container that was killed.
    pub fn find(killed: &KilledContainer, events: &[Event]) -> Option<Self> {
        let start = format!("Container {} failed ", killed.container);
        let of_this_run = |event: &&Event| {
            killed.started.zip(last_seen(event)).is_none_or(|(started, seen)| seen >= started)
        };
        let killing = events.iter().filter(|event| event.reason.as_deref() == Some("Killing"));
        let mut notes = killing.filter(of_this_run).filter_map(|event| event.note.as_deref());
        let probe = notes.find_map(|note| {
            let failed = note.strip_prefix(&start)?;
            ["startup", "liveness"].into_iter().find(|probe| failed.starts_with(probe))
        })?;
        Some(Self { container: killed.container.clone(), probe, met: met(killed, probe, events) })
    }

    /// Why it ended, after its exit code.
    pub fn words(&self) -> String {
        let Self { probe, met, .. } = self;
        let met = met.as_ref().map(|met| format!(" ({met})")).unwrap_or_default();
        format!("the kubelet killed it because its {probe} probe failed{met}")
    }
}

/// What the probe met last. A probe may quote what a program printed, so only what is known is passed on.
fn met(killed: &KilledContainer, probe: &str, events: &[Event]) -> Option<String> {
    let place = format!("{{{}}}", killed.container);
    let is_of_container = |event: &&Event| {
        let field = event.regarding.as_ref().and_then(|regarding| regarding.field_path.as_deref());
        field.is_some_and(|field| field.ends_with(&place))
    };
    let unhealthy = events.iter().filter(|event| event.reason.as_deref() == Some("Unhealthy"));
    let of_probe = unhealthy.filter(is_of_container).filter(|event| {
        let note = event.note.as_deref().unwrap_or_default();
        note.to_lowercase().starts_with(&format!("{probe} probe "))
    });
    let note = of_probe.max_by_key(|event| last_seen(event))?.note.as_deref()?;
    let code = note.split_once("failed with statuscode: ").map(|(_, code)| {
        let digits = code.chars().take_while(char::is_ascii_digit);
        format!("HTTP {}", digits.collect::<String>())
    });
    code.or_else(|| {
        let known = [
            ("connection refused", "connection refused"),
            ("context deadline exceeded", "no answer in time"),
            ("i/o timeout", "no answer in time"),
            ("timed out", "no answer in time"),
            ("connection reset", "connection reset"),
        ];
        known.iter().find(|(said, _)| note.contains(said)).map(|(_, told)| (*told).to_owned())
    })
}

fn last_seen(event: &Event) -> Option<Timestamp> {
    let series = event.series.as_ref().map(|series| series.last_observed_time.0);
    let last = || event.deprecated_last_timestamp.as_ref().map(|time| time.0);
    series.or_else(last).or_else(|| event.event_time.as_ref().map(|time| time.0))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn pod(code: i32, reason: &str, ready: bool) -> Pod {
        let ended = json!({"terminated": {
            "exitCode": code, "reason": reason, "startedAt": "2026-11-18T10:00:00Z",
            "finishedAt": "2026-11-18T10:05:00Z",
        }});
        serde_json::from_value(json!({"status": {"containerStatuses": [{
            "name": "server", "image": "i", "imageID": "i", "restartCount": 2, "ready": ready,
            "state": {"running": {}}, "lastState": ended,
        }]}}))
        .unwrap()
    }

    fn event(reason: &str, note: &str, at: &str) -> Event {
        let event: Value = json!({
            "metadata": {"name": "e"}, "eventTime": null, "reason": reason, "note": note,
            "regarding": {"kind": "Pod", "fieldPath": "spec.containers{server}"},
            "deprecatedLastTimestamp": format!("2026-11-18T{at}Z"),
        });
        serde_json::from_value(event).unwrap()
    }

    #[rstest]
    #[case(137, "Error", false, true)]
    #[case(137, "OOMKilled", false, false)]
    #[case(1, "Error", false, false)]
    #[case(137, "Error", true, false)]
    fn events_are_asked_only_of_what_was_killed_for_no_known_reason(
        #[case] code: i32,
        #[case] reason: &str,
        #[case] ready: bool,
        #[case] expected: bool,
    ) {
        assert_eq!(KilledContainer::find(&pod(code, reason, ready)).is_some(), expected);
    }

    #[rstest]
    #[case::refused(
        "Startup probe failed: Get \"http://10.0.0.5:8321/v1/health\": dial tcp 10.0.0.5:8321: connect: connection refused",
        "startup",
        "the kubelet killed it because its startup probe failed (connection refused)"
    )]
    #[case::status(
        "Liveness probe failed: HTTP probe failed with statuscode: 503",
        "liveness",
        "the kubelet killed it because its liveness probe failed (HTTP 503)"
    )]
    #[case::a_program_that_may_print_anything(
        "Startup probe failed: psql: password sk-secret is wrong",
        "startup",
        "the kubelet killed it because its startup probe failed"
    )]
    fn a_probe_that_kills_is_told_with_what_it_met(
        #[case] unhealthy: &str,
        #[case] probe: &str,
        #[case] expected: &str,
    ) {
        let killed = KilledContainer::find(&pod(137, "Error", false)).unwrap();
        let killing = format!("Container server failed {probe} probe, will be restarted");
        let events =
            [event("Unhealthy", unhealthy, "10:04:00"), event("Killing", &killing, "10:04:30")];
        assert_eq!(ProbeKill::find(&killed, &events).unwrap().words(), expected);
    }

    #[rstest]
    #[case::no_probe("Killing", "Stopping container server", "10:04:30")]
    #[case::another_container(
        "Killing",
        "Container proxy failed liveness probe, will be restarted",
        "10:04:30"
    )]
    #[case::an_earlier_run(
        "Killing",
        "Container server failed startup probe, will be restarted",
        "09:59:00"
    )]
    #[case::only_unhealthy("Unhealthy", "Startup probe failed: connection refused", "10:04:30")]
    fn what_no_probe_killed_is_not_said_to_be_killed_by_one(
        #[case] reason: &str,
        #[case] note: &str,
        #[case] at: &str,
    ) {
        let killed = KilledContainer::find(&pod(137, "Error", false)).unwrap();
        assert_eq!(ProbeKill::find(&killed, &[event(reason, note, at)]), None);
    }
}
