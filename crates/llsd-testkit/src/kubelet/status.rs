//! What a kubelet would write into the status of pods and of its node. Pure: no client here.

use std::sync::atomic::{AtomicU16, Ordering};

use k8s_openapi::{
    api::core::v1::{Container, Pod},
    jiff::Timestamp,
};
use serde_json::{Value, json};

use super::fate::{Look, PodFate};

/// A pod with scheduling gates stays unbound, and one for which another scheduler was named is not
/// ours to bind.
pub(super) fn may_be_scheduled(pod: &Pod) -> bool {
    pod.spec.as_ref().is_some_and(|spec| {
        spec.scheduling_gates.as_ref().is_none_or(Vec::is_empty)
            && spec.scheduler_name.as_deref().is_none_or(|name| name == "default-scheduler")
    })
}

/// The patch that brings a pod's status to `fate`, or none where it is there already: a patch that
/// changes only times would come back as an event, for ever.
pub(super) fn patch_towards(fate: &PodFate, pod: &Pod) -> Option<Value> {
    let look = Look::of(fate)?;
    if look == Look::at(pod) {
        return None;
    }
    let spec = pod.spec.as_ref()?;
    let now = Timestamp::now().to_string();
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    let containers: Vec<_> = spec
        .containers
        .iter()
        .map(|container| container_status(container, uid, &look, &now))
        .collect();
    let init_containers: Vec<_> = spec
        .init_containers
        .iter()
        .flatten()
        .map(|container| {
            let done = Look::of(&PodFate::Succeeded).unwrap_or_default();
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
            // A strategic patch leaves what it does not name, here the reason of a fate before.
            "reason": null,
            "message": null,
        });
        if !met {
            let message = format!("containers with unready status: [{}]", unready.join(" "));
            condition["reason"] = json!(look.unready_reason());
            condition["message"] = json!(message);
        }
        condition
    };
    Some(json!({ "status": {
        "phase": look.phase,
        "hostIP": "127.0.0.1",
        "podIP": ip,
        "podIPs": [{ "ip": ip }],
        "startTime": now,
        "conditions": [
            condition("PodScheduled", true),
            condition("Initialized", true),
            condition("ContainersReady", look.ready),
            condition("Ready", look.ready),
        ],
        "initContainerStatuses": init_containers,
        "containerStatuses": containers,
    }}))
}

fn container_status(container: &Container, uid: &str, look: &Look, now: &str) -> Value {
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
    let state = if let Some((reason, message)) = &look.waiting {
        json!({ "waiting": { "reason": reason, "message": message } })
    } else if look.phase == "Succeeded" {
        terminated(0, "Completed", "")
    } else {
        json!({ "running": { "startedAt": now } })
    };
    let crashed = look.last_message.as_ref();
    json!({
        "name": container.name,
        "image": image,
        "imageID": format!("stand-in/{image}"),
        "containerID": id,
        "ready": look.ready || look.phase == "Succeeded",
        "started": look.waiting.is_none(),
        "restartCount": if crashed.is_some() { 5 } else { 0 },
        "state": state,
        "lastState": crashed.map_or(json!({}), |message| terminated(1, "Error", message)),
    })
}

pub(super) fn node(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
            },
        },
    })
}

pub(super) fn node_status(name: &str) -> Value {
    let now = Timestamp::now().to_string();
    let room =
        json!({ "cpu": "64", "memory": "512Gi", "pods": "10000", "ephemeral-storage": "4Ti" });
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": { "name": name },
        "status": {
            "capacity": room,
            "allocatable": room,
            "addresses": [{ "type": "InternalIP", "address": "127.0.0.1" }],
            "conditions": [{
                "type": "Ready",
                "status": "True",
                "reason": "KubeletReady",
                "message": "stands in for a kubelet",
                "lastHeartbeatTime": now,
                "lastTransitionTime": now,
            }],
        },
    })
}

pub(super) fn next_ip() -> String {
    static NEXT: AtomicU16 = AtomicU16::new(1);
    let [high, low] = NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    format!("10.244.{high}.{low}")
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
    fn a_pod_that_met_its_fate_is_left_alone_until_the_fate_changes() {
        let fates = [
            PodFate::Ready,
            PodFate::NeverReady,
            PodFate::crash_loop("no such model"),
            PodFate::ImagePull { message: "not found".into() },
            PodFate::Succeeded,
        ];
        for fate in &fates {
            let patch = patch_towards(fate, &pod()).unwrap();
            let after = patched(pod(), &patch);
            for next in &fates {
                assert_eq!(
                    patch_towards(next, &after).is_none(),
                    next == fate,
                    "{fate:?}, {next:?}"
                );
            }
        }
        assert_eq!(patch_towards(&PodFate::Pending, &pod()), None);
    }
}
