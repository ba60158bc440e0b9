//! What a scheduler does for the one node: it binds the pods whose requests fit, and says why others wait.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::{
    api::core::v1::{Container, Pod, PodSpec},
    apimachinery::pkg::api::resource::Quantity,
    jiff::Timestamp,
};
use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams},
};
use llsd_plan::values::quantity;
use serde_json::json;

use llsd_testkit::node::{FIELD_MANAGER, NodeRoom, bind};

use crate::{events, snapshot::is_sidecar};

/// In billionths of a processor and of a byte.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Room {
    cpu: i128,
    memory: i128,
}

impl Room {
    fn of_node(room: NodeRoom) -> Self {
        let amount = |text| quantity::nanos(text).unwrap_or_default();
        Self { cpu: amount(room.cpu), memory: amount(room.memory) }
    }

    /// What a pod asks for: its containers and sidecars together, or its largest init container beside the sidecars
    /// that are before it.
    pub(crate) fn of_pod(spec: &PodSpec) -> Self {
        let mut beside = Self::default();
        let mut largest = Self::default();
        for container in spec.init_containers.iter().flatten() {
            let asked = Self::of_container(container);
            if is_sidecar(container) {
                beside = beside.and(asked);
            } else {
                largest = largest.max(beside.and(asked));
            }
        }
        let all = spec.containers.iter().map(Self::of_container).fold(beside, Self::and);
        largest.max(all)
    }

    fn of_container(container: &Container) -> Self {
        let requests = container.resources.as_ref().and_then(|it| it.requests.as_ref());
        let amount = |name| {
            let Quantity(text) = requests?.get(name)?;
            quantity::nanos(text)
        };
        let (cpu, memory) = (amount("cpu"), amount("memory"));
        Self { cpu: cpu.unwrap_or_default(), memory: memory.unwrap_or_default() }
    }

    fn and(self, other: Self) -> Self {
        Self { cpu: self.cpu + other.cpu, memory: self.memory + other.memory }
    }

    fn max(self, other: Self) -> Self {
        Self { cpu: self.cpu.max(other.cpu), memory: self.memory.max(other.memory) }
    }

    /// What there is too little of for another one beside what is taken.
    fn lacks(self, taken: Self, asked: Self) -> Vec<&'static str> {
        let all = taken.and(asked);
        let is_short = [
            ("Insufficient cpu", asked.cpu > 0 && all.cpu > self.cpu),
            ("Insufficient memory", asked.memory > 0 && all.memory > self.memory),
        ];
        is_short.into_iter().filter(|(_, short)| *short).map(|(what, _)| what).collect()
    }

    /// Why a pod is not bound, in the words of the scheduler.
    fn message(self, lacks: &[&str], asked: Self) -> String {
        let lacks: Vec<String> = lacks.iter().map(|what| format!("1 {what}")).collect();
        // It looks for pods to evict only where an empty node would have the room.
        let preemption = if self.lacks(Self::default(), asked).is_empty() {
            "No preemption victims found for incoming pod."
        } else {
            "Preemption is not helpful for scheduling."
        };
        format!(
            "0/1 nodes are available: {}. no new claims to deallocate, preemption: 0/1 nodes are available: 1 {preemption}",
            lacks.join(", ")
        )
    }
}

/// The pods that wait for a node, and those that were bound and are not seen to run yet.
pub(crate) struct Scheduler {
    node: Room,
    waiting: BTreeMap<String, Pod>,
    promised: BTreeMap<String, Room>,
}

impl Scheduler {
    pub(crate) fn new(room: NodeRoom) -> Self {
        let node = Room::of_node(room);
        Self { node, waiting: BTreeMap::new(), promised: BTreeMap::new() }
    }

    /// A pod without a node.
    pub(crate) fn note(&mut self, pod: &Pod) {
        let uid = pod.uid().unwrap_or_default();
        if !self.promised.contains_key(&uid) {
            self.waiting.insert(uid, pod.clone());
        }
    }

    /// The pod has a node, or is gone.
    pub(crate) fn forget(&mut self, uid: &str) {
        self.waiting.remove(uid);
        self.promised.remove(uid);
    }

    /// Only these are there.
    pub(crate) fn keep(&mut self, uids: &BTreeSet<String>) {
        self.waiting.retain(|uid, _| uids.contains(uid));
        self.promised.retain(|uid, _| uids.contains(uid));
    }

    /// Binds every pod that fits beside those that run.
    pub(crate) async fn schedule(&mut self, client: &Client, running: Room) {
        let mut taken = self.promised.values().fold(running, |all, room| all.and(*room));
        for (uid, pod) in std::mem::take(&mut self.waiting) {
            let asked = pod.spec.as_ref().map(Room::of_pod).unwrap_or_default();
            let lacks = self.node.lacks(taken, asked);
            if lacks.is_empty() {
                // After an error the pod waits for the next event, which may be its own: it changed, or is gone.
                if bind(client, &pod).await.is_err() {
                    self.waiting.insert(uid, pod);
                    continue;
                }
                taken = taken.and(asked);
                self.promised.insert(uid, asked);
            } else {
                let message = self.node.message(&lacks, asked);
                say_why(client, &pod, message).await;
                self.waiting.insert(uid, pod);
            }
        }
    }
}

/// Sums what the pods of a node ask for.
pub(crate) fn sum(rooms: impl Iterator<Item = Room>) -> Room {
    rooms.fold(Room::default(), Room::and)
}

async fn say_why(client: &Client, pod: &Pod, message: String) {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    if conditions.into_iter().any(|it| it.message.as_ref() == Some(&message)) {
        return;
    }
    let told = events::failed_scheduling(message.clone());
    events::send(client.clone(), events::event(pod, &told, None)).await;
    let pods: Api<Pod> = Api::namespaced(client.clone(), &pod.namespace().unwrap_or_default());
    let condition = json!({
        "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message,
        "lastTransitionTime": Timestamp::now().to_string(),
    });
    let manager =
        PatchParams { field_manager: Some(FIELD_MANAGER.into()), ..PatchParams::default() };
    let status = Patch::Strategic(json!({ "status": { "conditions": [condition] } }));
    // Who is gone need not be told.
    let _ = pods.patch_status(&pod.name_any(), &manager, &status).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: NodeRoom = NodeRoom { cpu: "2", memory: "1Gi" };

    fn asks(pod: serde_json::Value) -> Room {
        Room::of_pod(&serde_json::from_value(pod).unwrap())
    }

    fn container(cpu: &str, memory: &str) -> serde_json::Value {
        let requests = json!({ "cpu": cpu, "memory": memory });
        json!({ "name": "c", "resources": { "requests": requests } })
    }

    #[test]
    fn a_pod_fits_where_the_requests_of_all_fit() {
        let node = Room::of_node(NODE);
        let one = asks(json!({ "containers": [container("1500m", "512Mi")] }));
        assert_eq!(node.lacks(Room::default(), one), <[&str; 0]>::default());
        assert_eq!(node.lacks(one, one), ["Insufficient cpu"]);
        let large = asks(json!({ "containers": [container("600m", "600Mi")] }));
        assert_eq!(node.lacks(one, large), ["Insufficient cpu", "Insufficient memory"]);
        assert!(node.message(&["Insufficient cpu"], one).contains("No preemption victims"));
        let huge = asks(json!({ "containers": [container("1000", "1Mi")] }));
        assert!(node.message(&["Insufficient cpu"], huge).contains("Preemption is not helpful"));
        // What asks for nothing fits anywhere.
        let modest = asks(json!({ "containers": [{ "name": "c" }] }));
        assert_eq!(node.lacks(sum([one, one].into_iter()), modest), <[&str; 0]>::default());
    }

    #[test]
    fn sidecars_count_beside_all_that_comes_after_them() {
        let mut sidecar = container("100m", "1Mi");
        sidecar["restartPolicy"] = "Always".into();
        let init = container("1", "1Mi");
        let main = container("500m", "1Mi");
        let before = json!({ "initContainers": [sidecar, init], "containers": [main] });
        assert_eq!(asks(before).cpu, quantity::nanos("1100m").unwrap());
        let after = json!({ "initContainers": [init, sidecar], "containers": [main] });
        assert_eq!(asks(after).cpu, quantity::nanos("1").unwrap());
    }
}
