//! The state of a pod and its containers at a moment, and the status that shows it. Pure: no
//! client here.

use k8s_openapi::{
    api::core::v1::{Container, Pod, PodSpec},
    jiff::Timestamp,
};
use serde_json::{Value, json};

use crate::refusal::Refusal;

/// What a runtime answers for a container that it could not start; `container.py` does.
pub(crate) const START_ERROR: i32 = 128;

/// The state of one container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContainerSnapshot {
    pub(crate) name: String,
    pub(crate) image: String,
    pub(crate) state: State,
    /// How its run before this one ended.
    pub(crate) last: Option<Ended>,
    pub(crate) restarts: u32,
    /// Its startup probe has succeeded.
    pub(crate) started: bool,
    pub(crate) ready: bool,
    /// It must be ready for the pod to be: not an init container that just ends.
    pub(crate) counts: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    Waiting(Refusal),
    Running { since: Timestamp },
    Ended(Ended),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    /// It was killed because its memory limit did not suffice.
    pub(crate) out_of_memory: bool,
    pub(crate) message: String,
    pub(crate) started: Timestamp,
    pub(crate) finished: Timestamp,
}

/// The state of a pod: its init containers, then the others.
#[derive(Debug, Clone)]
pub(crate) struct PodSnapshot {
    pub(crate) containers: Vec<ContainerSnapshot>,
    /// The pod was deleted, and is about to end.
    pub(crate) terminating: bool,
    init: usize,
    ip: String,
    since: Timestamp,
    restart_policy: String,
}

impl PodSnapshot {
    pub(crate) fn new(pod: &Pod, ip: &str) -> Self {
        let spec = pod.spec.clone().unwrap_or_default();
        let PodSpec { init_containers, containers, restart_policy, .. } = spec;
        let init_containers = init_containers.unwrap_or_default();
        let init = init_containers.len();
        let snapshots = init_containers
            .iter()
            .map(|container| new(container, is_sidecar(container)))
            .chain(containers.iter().map(|container| new(container, true)));
        let mut made = Self {
            containers: snapshots.collect(),
            terminating: false,
            init,
            ip: ip.to_owned(),
            since: Timestamp::now(),
            restart_policy: restart_policy.unwrap_or_else(|| "Always".into()),
        };
        made.wait(&Refusal::preparing(""));
        made
    }

    /// No container starts yet.
    pub(crate) fn wait(&mut self, why: &Refusal) {
        let reason = if self.init > 0 { "PodInitializing" } else { why.reason };
        for container in &mut self.containers {
            container.state = State::Waiting(Refusal { reason, message: why.message.clone() });
        }
    }

    /// All init containers have done their part.
    pub(crate) fn initialized(&self) -> bool {
        let ended_well = |snapshot: &ContainerSnapshot| matches!(&snapshot.state, State::Ended(end) if end.code == 0);
        self.containers[..self.init]
            .iter()
            .all(|snapshot| if snapshot.counts { snapshot.started } else { ended_well(snapshot) })
    }

    pub(crate) fn ready(&self) -> bool {
        self.initialized()
            && self.containers.iter().all(|snapshot| snapshot.ready || !snapshot.counts)
    }

    pub(crate) fn phase(&self) -> &'static str {
        let codes: Vec<Option<i32>> = self.containers[self.init..]
            .iter()
            .map(|snapshot| match &snapshot.state {
                State::Ended(ended) => Some(ended.code),
                State::Waiting(_) | State::Running { .. } => None,
            })
            .collect();
        let begun = self.containers[self.init..].iter().any(|snapshot| {
            snapshot.last.is_some() || !matches!(snapshot.state, State::Waiting(_))
        });
        let over = self.restart_policy != "Always" && codes.iter().all(Option::is_some);
        let init_failed = self.restart_policy == "Never"
            && self.containers[..self.init].iter().any(
                |snapshot| matches!(&snapshot.state, State::Ended(end) if end.code != 0 && !snapshot.counts),
            );
        match () {
            () if init_failed => "Failed",
            () if over && codes.iter().all(|code| *code == Some(0)) => "Succeeded",
            () if over => "Failed",
            () if begun => "Running",
            () => "Pending",
        }
    }

    /// The patch for the pod's status.
    pub(crate) fn status(&self, pod: &Pod) -> Value {
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        let (init, others) = self.containers.split_at(self.init);
        let statuses = |snapshots: &[ContainerSnapshot]| -> Vec<Value> {
            snapshots.iter().map(|snapshot| container_status(snapshot, uid)).collect()
        };
        let phase = self.phase();
        json!({ "status": {
            "phase": phase,
            "hostIP": "127.0.0.1",
            "podIP": self.ip,
            "podIPs": [{ "ip": self.ip }],
            "startTime": self.since.to_string(),
            "conditions": self.conditions(pod, phase),
            "initContainerStatuses": statuses(init),
            "containerStatuses": statuses(others),
        }})
    }

    fn conditions(&self, pod: &Pod, phase: &str) -> Vec<Value> {
        let unready: Vec<&str> = self
            .containers
            .iter()
            .filter(|snapshot| snapshot.counts && !snapshot.ready)
            .map(|snapshot| snapshot.name.as_str())
            .collect();
        let why = match phase {
            "Succeeded" => "PodCompleted",
            "Failed" => "PodFailed",
            _ => "ContainersNotReady",
        };
        let (ready, initialized) = (self.ready(), self.initialized());
        let known = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
        let known: Vec<_> = known.collect();
        let condition = |kind: &str, met: bool, reason: &str| {
            let status = if met { "True" } else { "False" };
            let same = known.iter().find(|known| known.type_ == kind && known.status == status);
            let since = same.and_then(|known| known.last_transition_time.as_ref());
            let since = since.map_or_else(Timestamp::now, |time| time.0);
            let message = format!("containers with unready status: [{}]", unready.join(" "));
            json!({
                "type": kind,
                "status": status,
                "lastTransitionTime": since.to_string(),
                // A strategic patch leaves what it does not name.
                "reason": if met { Value::Null } else { reason.into() },
                "message": if met { Value::Null } else { message.into() },
            })
        };
        vec![
            condition("PodScheduled", true, ""),
            condition("PodReadyToStartContainers", true, ""),
            condition("Initialized", initialized, "ContainersNotInitialized"),
            condition("ContainersReady", ready, why),
            condition("Ready", ready, why),
        ]
    }
}

/// An init container that stays beside the others.
pub(crate) fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

fn new(container: &Container, counts: bool) -> ContainerSnapshot {
    ContainerSnapshot {
        name: container.name.clone(),
        image: container.image.clone().unwrap_or_default(),
        state: State::Waiting(Refusal::preparing("")),
        last: None,
        restarts: 0,
        started: false,
        ready: false,
        counts,
    }
}

fn container_status(snapshot: &ContainerSnapshot, uid: &str) -> Value {
    let id = format!("stand-in://{uid}-{}", snapshot.name);
    let ended = |ended: &Ended| {
        json!({ "terminated": {
            "exitCode": ended.code,
            "reason": match ended.code {
                _ if ended.out_of_memory => "OOMKilled",
                0 => "Completed",
                START_ERROR => "StartError",
                _ => "Error",
            },
            "message": ended.message,
            "containerID": id,
            "startedAt": ended.started.to_string(),
            "finishedAt": ended.finished.to_string(),
        }})
    };
    let state = match &snapshot.state {
        State::Waiting(why) => {
            json!({ "waiting": { "reason": why.reason, "message": why.message } })
        }
        State::Running { since } => json!({ "running": { "startedAt": since.to_string() } }),
        State::Ended(end) => ended(end),
    };
    json!({
        "name": snapshot.name,
        "image": snapshot.image,
        "imageID": format!("stand-in/{}", snapshot.image),
        "containerID": id,
        "ready": snapshot.ready,
        "started": snapshot.started,
        "restartCount": snapshot.restarts,
        "state": state,
        "lastState": snapshot.last.as_ref().map_or(json!({}), ended),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(restart_policy: &str) -> Pod {
        serde_json::from_value(json!({
            "metadata": { "name": "p" },
            "spec": {
                "restartPolicy": restart_policy,
                "initContainers": [
                    { "name": "first" },
                    { "name": "beside", "restartPolicy": "Always" },
                ],
                "containers": [{ "name": "main" }],
            },
        }))
        .unwrap()
    }

    fn ended(code: i32) -> State {
        let now = Timestamp::now();
        let message = String::new();
        State::Ended(Ended { code, out_of_memory: false, message, started: now, finished: now })
    }

    #[test]
    fn a_pod_is_ready_when_all_that_stay_are() {
        let pod = pod("Always");
        let mut snapshot = PodSnapshot::new(&pod, "10.0.0.1");
        assert_eq!((snapshot.initialized(), snapshot.phase()), (false, "Pending"));
        snapshot.containers[0].state = ended(0);
        for index in [1, 2] {
            assert!(!snapshot.ready());
            let container = &mut snapshot.containers[index];
            (container.started, container.ready) = (true, true);
            container.state = State::Running { since: Timestamp::now() };
        }
        assert_eq!((snapshot.ready(), snapshot.phase()), (true, "Running"));
        snapshot.containers[2].state = ended(1);
        snapshot.containers[2].ready = false;
        assert_eq!((snapshot.ready(), snapshot.phase()), (false, "Running"));
        let status = snapshot.status(&pod);
        assert_eq!(status["status"]["conditions"][4]["reason"], "ContainersNotReady");
    }

    #[test]
    fn a_pod_that_is_not_restarted_comes_to_an_end() {
        let phase = |init: i32, main: Option<i32>| {
            let mut snapshot = PodSnapshot::new(&pod("Never"), "10.0.0.1");
            snapshot.containers[0].state = ended(init);
            snapshot.containers[1].started = true;
            if let Some(code) = main {
                snapshot.containers[2].state = ended(code);
            }
            snapshot.phase()
        };
        assert_eq!(phase(0, Some(0)), "Succeeded");
        assert_eq!(phase(0, Some(1)), "Failed");
        assert_eq!(phase(1, None), "Failed");
        assert_eq!(phase(0, None), "Pending");
    }
}
