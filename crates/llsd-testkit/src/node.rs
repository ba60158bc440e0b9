//! The one Node of a control plane, what a scheduler does with pods for it, and the addresses that
//! pods get there. For whatever stands in for its kubelet.

use std::sync::atomic::{AtomicU16, Ordering};

use k8s_openapi::{
    api::core::v1::{Node, Pod},
    jiff::Timestamp,
};
use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

/// Its name.
pub const NODE: &str = "stand-in";
/// As whom a stand-in for the kubelet writes.
pub const FIELD_MANAGER: &str = "kubelet-stand-in";

/// How much the requests of its pods may come to.
#[derive(Debug, Clone, Copy)]
pub struct NodeRoom {
    pub cpu: &'static str,
    pub memory: &'static str,
}

/// More than any test asks for.
impl Default for NodeRoom {
    fn default() -> Self {
        Self { cpu: "64", memory: "512Gi" }
    }
}

/// Makes the Node and says that it is ready; the client for all that follows.
pub async fn register(config: kube::Config, room: NodeRoom) -> anyhow::Result<Client> {
    let client = Client::try_from(config)?;
    let nodes: Api<Node> = Api::all(client.clone());
    let manager = PatchParams::apply(FIELD_MANAGER).force();
    nodes.patch(NODE, &manager, &Patch::Apply(node(NODE))).await?;
    nodes.patch_status(NODE, &manager, &Patch::Apply(node_status(NODE, room))).await?;
    Ok(client)
}

/// What a scheduler does.
pub async fn bind(client: &Client, pod: &Pod) -> anyhow::Result<()> {
    let (name, namespace) = (pod.name_any(), pod.namespace().unwrap_or_default());
    let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
    let binding = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": { "name": name, "namespace": namespace },
        "target": { "apiVersion": "v1", "kind": "Node", "name": NODE },
    });
    let parameters = PostParams::default();
    let _: Value = pods.create_subresource("binding", &name, &parameters, &binding).await?;
    Ok(())
}

/// A pod with scheduling gates stays unbound, and one for which another scheduler was named is not
/// ours to bind.
pub fn may_be_scheduled(pod: &Pod) -> bool {
    pod.spec.as_ref().is_some_and(|spec| {
        spec.scheduling_gates.as_ref().is_none_or(Vec::is_empty)
            && spec.scheduler_name.as_deref().is_none_or(|name| name == "default-scheduler")
    })
}

/// An address that no other pod has.
pub fn next_ip() -> String {
    static NEXT: AtomicU16 = AtomicU16::new(1);
    let [high, low] = NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    format!("10.244.{high}.{low}")
}

fn node(name: &str) -> Value {
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

fn node_status(name: &str, room: NodeRoom) -> Value {
    let now = Timestamp::now().to_string();
    let NodeRoom { cpu, memory } = room;
    let room = json!({ "cpu": cpu, "memory": memory, "pods": "10000", "ephemeral-storage": "4Ti" });
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
