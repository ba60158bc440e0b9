//! How a pod and its containers look at a moment, and the status that says it. Pure: no client
//! here.

use k8s_openapi::{
    api::core::v1::{Container, Pod, PodSpec},
    jiff::Timestamp,
};
use serde_json::{Value, json};

use super::refusal::Refusal;

/// What a runtime answers for a container that it could not start; `container.py` does.
pub(super) const START_ERROR: i32 = 128;

/// How one container looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ContainerLook {
    pub(super) name: String,
    pub(super) image: String,
    pub(super) state: State,
    /// How its run before this one ended.
    pub(super) last: Option<Ended>,
    pub(super) restarts: u32,
    /// Its startup probe has succeeded.
    pub(super) started: bool,
    pub(super) ready: bool,
    /// It must be ready for the pod to be: not an init container that just ends.
    pub(super) counts: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    Waiting(Refusal),
    Running { since: Timestamp },
    Ended(Ended),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) code: i32,
    pub(super) message: String,
    pub(super) started: Timestamp,
    pub(super) finished: Timestamp,
}

/// How a pod looks: its init containers, then the others.
#[derive(Debug, Clone)]
pub(super) struct PodLook {
    pub(super) containers: Vec<ContainerLook>,
    init: usize,
    ip: String,
    since: Timestamp,
    restart_policy: String,
}

impl PodLook {
    pub(super) fn new(pod: &Pod, ip: &str) -> Self {
        let spec = pod.spec.clone().unwrap_or_default();
        let PodSpec { init_containers, containers, restart_policy, .. } = spec;
        let init_containers = init_containers.unwrap_or_default();
        let init = init_containers.len();
        let looks = init_containers
            .iter()
            .map(|container| new(container, is_sidecar(container), "PodInitializing"))
            .chain(containers.iter().map(|container| {
                let why = if init > 0 { "PodInitializing" } else { "ContainerCreating" };
                new(container, true, why)
            }));
        Self {
            containers: looks.collect(),
            init,
            ip: ip.to_owned(),
            since: Timestamp::now(),
            restart_policy: restart_policy.unwrap_or_else(|| "Always".into()),
        }
    }

    /// All init containers have done their part.
    pub(super) fn initialized(&self) -> bool {
        let ended_well =
            |look: &ContainerLook| matches!(&look.state, State::Ended(end) if end.code == 0);
        self.containers[..self.init]
            .iter()
            .all(|look| if look.counts { look.started } else { ended_well(look) })
    }

    pub(super) fn ready(&self) -> bool {
        self.initialized() && self.containers.iter().all(|look| look.ready || !look.counts)
    }

    pub(super) fn phase(&self) -> &'static str {
        let codes: Vec<Option<i32>> = self.containers[self.init..]
            .iter()
            .map(|look| match &look.state {
                State::Ended(ended) => Some(ended.code),
                State::Waiting(_) | State::Running { .. } => None,
            })
            .collect();
        let begun = self.containers[self.init..]
            .iter()
            .any(|look| look.last.is_some() || !matches!(look.state, State::Waiting(_)));
        let over = self.restart_policy != "Always" && codes.iter().all(Option::is_some);
        let init_failed = self.restart_policy == "Never"
            && self.containers[..self.init].iter().any(
                |look| matches!(&look.state, State::Ended(end) if end.code != 0 && !look.counts),
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
    pub(super) fn status(&self, pod: &Pod) -> Value {
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        let (init, others) = self.containers.split_at(self.init);
        let statuses = |looks: &[ContainerLook]| -> Vec<Value> {
            looks.iter().map(|look| container_status(look, uid)).collect()
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
            .filter(|look| look.counts && !look.ready)
            .map(|look| look.name.as_str())
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
pub(super) fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

fn new(container: &Container, counts: bool, reason: &'static str) -> ContainerLook {
    ContainerLook {
        name: container.name.clone(),
        image: container.image.clone().unwrap_or_default(),
        state: State::Waiting(Refusal { reason, message: String::new() }),
        last: None,
        restarts: 0,
        started: false,
        ready: false,
        counts,
    }
}

fn container_status(look: &ContainerLook, uid: &str) -> Value {
    let id = format!("stand-in://{uid}-{}", look.name);
    let ended = |ended: &Ended| {
        json!({ "terminated": {
            "exitCode": ended.code,
            "reason": match ended.code {
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
    let state = match &look.state {
        State::Waiting(why) => {
            json!({ "waiting": { "reason": why.reason, "message": why.message } })
        }
        State::Running { since } => json!({ "running": { "startedAt": since.to_string() } }),
        State::Ended(end) => ended(end),
    };
    json!({
        "name": look.name,
        "image": look.image,
        "imageID": format!("stand-in/{}", look.image),
        "containerID": id,
        "ready": look.ready,
        "started": look.started,
        "restartCount": look.restarts,
        "state": state,
        "lastState": look.last.as_ref().map_or(json!({}), ended),
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
        State::Ended(Ended { code, message: String::new(), started: now, finished: now })
    }

    #[test]
    fn a_pod_is_ready_when_all_that_stay_are() {
        let pod = pod("Always");
        let mut look = PodLook::new(&pod, "10.0.0.1");
        assert_eq!((look.initialized(), look.phase()), (false, "Pending"));
        look.containers[0].state = ended(0);
        for index in [1, 2] {
            assert!(!look.ready());
            let container = &mut look.containers[index];
            (container.started, container.ready) = (true, true);
            container.state = State::Running { since: Timestamp::now() };
        }
        assert_eq!((look.ready(), look.phase()), (true, "Running"));
        look.containers[2].state = ended(1);
        look.containers[2].ready = false;
        assert_eq!((look.ready(), look.phase()), (false, "Running"));
        let status = look.status(&pod);
        assert_eq!(status["status"]["conditions"][4]["reason"], "ContainersNotReady");
    }

    #[test]
    fn a_pod_that_is_not_restarted_comes_to_an_end() {
        let phase = |init: i32, main: Option<i32>| {
            let mut look = PodLook::new(&pod("Never"), "10.0.0.1");
            look.containers[0].state = ended(init);
            look.containers[1].started = true;
            if let Some(code) = main {
                look.containers[2].state = ended(code);
            }
            look.phase()
        };
        assert_eq!(phase(0, Some(0)), "Succeeded");
        assert_eq!(phase(0, Some(1)), "Failed");
        assert_eq!(phase(1, None), "Failed");
        assert_eq!(phase(0, None), "Pending");
    }
}
