//! What a kubelet would write into the status of a pod. Pure: no client here.

use k8s_openapi::{
    api::core::v1::{Container, Pod},
    jiff::Timestamp,
};
use serde_json::{Value, json};

use super::state::{PodState, StatusSummary};
use crate::node::next_ip;

/// The patch that brings a pod's status to `state`, or none where it is there already: a patch that
/// changes only times would come back as an event, for ever.
pub(super) fn patch_towards(state: &PodState, pod: &Pod) -> Option<Value> {
    let summary = StatusSummary::from_state(state)?;
    if summary == StatusSummary::at(pod) {
        return None;
    }
    let spec = pod.spec.as_ref()?;
    let now = Timestamp::now().to_string();
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    let containers: Vec<_> = spec
        .containers
        .iter()
        .map(|container| container_status(container, uid, &summary, &now))
        .collect();
    let init_containers: Vec<_> = spec
        .init_containers
        .iter()
        .flatten()
        .map(|container| {
            let done = StatusSummary::from_state(&PodState::Succeeded).unwrap_or_default();
            container_status(container, uid, &done, &now)
        })
        .collect();
    let status = pod.status.as_ref();
    let known_ip = status.and_then(|status| status.pod_ip.clone());
    let ip = known_ip.unwrap_or_else(next_ip);
    let unready = spec.containers.iter().map(|container| container.name.as_str());
    let unready: Vec<_> = unready.collect();
    let condition = |kind: &str, met: bool| {
        let mut condition = json!({
            "type": kind,
            "status": if met { "True" } else { "False" },
            "lastTransitionTime": now,
            // A strategic patch leaves what it does not name, here the reason of the state before.
            "reason": null,
            "message": null,
        });
        if !met {
            let message = format!("containers with unready status: [{}]", unready.join(" "));
            condition["reason"] = json!(summary.unready_reason());
            condition["message"] = json!(message);
        }
        condition
    };
    Some(json!({ "status": {
        "phase": summary.phase,
        "hostIP": "127.0.0.1",
        "podIP": ip,
        "podIPs": [{ "ip": ip }],
        "startTime": now,
        "conditions": [
            condition("PodScheduled", true),
            condition("Initialized", true),
            condition("ContainersReady", summary.ready),
            condition("Ready", summary.ready),
        ],
        "initContainerStatuses": init_containers,
        "containerStatuses": containers,
    }}))
}

fn container_status(container: &Container, uid: &str, summary: &StatusSummary, now: &str) -> Value {
    let image = container.image.as_deref().unwrap_or_default();
    let id = format!("stand-in://{uid}-{}", container.name);
    let terminated = |code: i32, reason: &str, message: &str| {
        json!({ "terminated": {
            "exitCode": code,
            "reason": reason,
            "message": message,
            "containerID": id,
            "startedAt": now,
            "finishedAt": now,
        }})
    };
    let state = if let Some((reason, message)) = &summary.waiting {
        json!({ "waiting": { "reason": reason, "message": message } })
    } else if summary.phase == "Succeeded" {
        terminated(0, "Completed", &summary.words)
    } else {
        json!({ "running": { "startedAt": now } })
    };
    let crashed = summary.last_message.as_ref();
    json!({
        "name": container.name,
        "image": image,
        "imageID": format!("stand-in/{image}"),
        "containerID": id,
        "ready": summary.ready || summary.phase == "Succeeded",
        "started": summary.waiting.is_none(),
        "restartCount": if crashed.is_some() { 5 } else { 0 },
        "state": state,
        "lastState": crashed.map_or(json!({}), |message| terminated(1, "Error", message)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod() -> Pod {
        serde_json::from_value(json!({
            "metadata": { "name": "p", "uid": "u" },
            "spec": { "containers": [{ "name": "server", "image": "i" }] },
        }))
        .unwrap()
    }

    /// Far enough for this test: what the API server does with the patch.
    fn patched(mut pod: Pod, patch: &Value) -> Pod {
        pod.status = serde_json::from_value(patch["status"].clone()).unwrap();
        pod
    }

    #[test]
    fn a_pod_in_its_state_is_left_alone_until_the_state_changes() {
        let states = [
            PodState::Ready,
            PodState::NeverReady,
            PodState::crash_loop("no such model"),
            PodState::ImagePull { message: "not found".into() },
            PodState::Succeeded,
        ];
        for state in &states {
            let patch = patch_towards(state, &pod()).unwrap();
            let after = patched(pod(), &patch);
            for next in &states {
                assert_eq!(
                    patch_towards(next, &after).is_none(),
                    next == state,
                    "{state:?}, {next:?}"
                );
            }
        }
        assert_eq!(patch_towards(&PodState::Pending, &pod()), None);
    }
}
