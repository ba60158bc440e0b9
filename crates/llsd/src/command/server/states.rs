//! The states of a server that its Deployment's ReplicaSets keep, newest first.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use kube::Api;
use kube::api::ListParams;
use llsd_plan::live::current_pods::REVISION;
use llsd_plan::objects::{labels, names};
use llsd_plan::rollout::Return;
use serde_json::{Value, json};

use crate::command::cluster::Cluster;
use crate::command::cluster_error::ClusterError;

/// One state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerState {
    /// Kubernetes' own hash of its template, by which it is named.
    pub(super) hash: String,
    pub(super) revision: u64,
    pub(super) created: String,
    pub(super) pods: u64,
    pub(super) ready: u64,
    pub(super) image: String,
    /// The ConfigMap with the server's configuration.
    pub(super) config: Option<String>,
    /// What is special about it.
    pub(super) notes: Vec<&'static str>,
}

impl ServerState {
    /// For scripts.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "hash": self.hash, "revision": self.revision, "created": self.created,
            "pods": self.pods, "ready": self.ready, "image": self.image, "config": self.config,
            "notes": self.notes,
        })
    }
}

/// A server's Deployment and its states, as far as the caller may read them.
#[derive(Debug, Default)]
pub(super) struct SeenWorkload {
    /// `null` where there is none, or where it cannot be read.
    pub(super) deployment: Value,
    pub(super) states: Vec<ServerState>,
    /// Why the Deployment or its ReplicaSets cannot be read.
    pub(super) unread: Option<String>,
}

impl SeenWorkload {
    pub(super) async fn look(cluster: &Cluster, name: &str) -> Self {
        let deployment = match read_deployment(cluster, name).await {
            Ok(deployment) => deployment,
            Err(error) => return Self { unread: Some(error.to_string()), ..Self::default() },
        };
        match states_of(cluster, name, &deployment).await {
            Ok(states) => Self { deployment, states, unread: None },
            Err(error) => Self { deployment, states: Vec::new(), unread: Some(error.to_string()) },
        }
    }

    /// Whether there may be a Deployment that cannot be read.
    pub(super) fn hides_its_deployment(&self) -> bool {
        self.deployment.is_null() && self.unread.is_some()
    }
}

/// The states of a server; none where it has no Deployment.
pub(super) async fn of_server(
    cluster: &Cluster,
    name: &str,
) -> Result<Vec<ServerState>, ClusterError> {
    let deployment = read_deployment(cluster, name).await?;
    states_of(cluster, name, &deployment).await
}

/// A server's Deployment, `null` where there is none.
async fn read_deployment(cluster: &Cluster, name: &str) -> Result<Value, ClusterError> {
    let deployments: Api<Deployment> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let found = deployments.get_opt(&names::deployment(name)).await?;
    Ok(found.map(|found| serde_json::to_value(found).unwrap_or_default()).unwrap_or_default())
}

async fn states_of(
    cluster: &Cluster,
    name: &str,
    deployment: &Value,
) -> Result<Vec<ServerState>, ClusterError> {
    if deployment.is_null() {
        return Ok(Vec::new());
    }
    let sets: Api<ReplicaSet> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let own = ListParams::default().labels(&labels::selector_text(name));
    let listed = sets.list(&own).await?;
    let sets = listed.items.into_iter().map(|set| serde_json::to_value(set).unwrap_or_default());
    Ok(states(deployment, &sets.collect::<Vec<_>>()))
}

fn states(deployment: &Value, sets: &[Value]) -> Vec<ServerState> {
    let uid = &deployment["metadata"]["uid"];
    let is_own = |set: &&Value| {
        let mut owners = set["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        owners.any(|owner| owner["uid"] == *uid)
    };
    let mut states: Vec<ServerState> = sets.iter().filter(is_own).filter_map(state).collect();
    states.sort_by_key(|state| std::cmp::Reverse(state.revision));
    let annotations = &deployment["metadata"]["annotations"];
    let back = annotations[labels::ROLLED_BACK].as_str().map(Return::parse).unwrap_or_default();
    for (place, state) in states.iter_mut().enumerate() {
        if place == 0 {
            state.notes.push("runs");
        }
        if annotations[labels::LAST_GOOD] == *state.hash {
            state.notes.push("last good");
        }
        if !back.from.is_empty() && back.from == state.hash {
            state.notes.push("failed");
        }
    }
    states
}

fn state(set: &Value) -> Option<ServerState> {
    let metadata = &set["metadata"];
    let pod = &set["spec"]["template"]["spec"];
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    let mut volumes = pod["volumes"].as_array().into_iter().flatten();
    let config = volumes.find(|volume| volume["name"] == "user-config");
    Some(ServerState {
        hash: metadata["labels"][labels::POD_TEMPLATE_HASH].as_str()?.to_owned(),
        revision: metadata["annotations"][REVISION].as_str()?.parse().ok()?,
        created: metadata["creationTimestamp"].as_str().unwrap_or_default().to_owned(),
        pods: number(&set["status"]["replicas"]),
        ready: number(&set["status"]["readyReplicas"]),
        image: pod["containers"][0]["image"].as_str().unwrap_or_default().to_owned(),
        config: config.and_then(|volume| volume["configMap"]["name"].as_str()).map(str::to_owned),
        notes: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_listed_newest_first_with_what_is_special_about_them() {
        let deployment = json!({"metadata": {"uid": "1", "annotations": {
            labels::LAST_GOOD: "old",
            labels::ROLLED_BACK: r#"{"to": "old", "from": "new", "why": "timed out"}"#,
        }}});
        let set = |hash: &str, revision: &str, owner: &str| {
            json!({
                "metadata": {
                    "labels": {labels::POD_TEMPLATE_HASH: hash},
                    "annotations": {REVISION: revision},
                    "ownerReferences": [{"uid": owner}],
                },
                "spec": {"template": {"spec": {
                    "containers": [{"image": "r/a:1"}],
                    "volumes": [{"name": "user-config", "configMap": {"name": "llama-config-1"}}],
                }}},
            })
        };
        let sets = [set("new", "9", "1"), set("old", "10", "1"), set("stranger", "11", "2")];
        let states = states(&deployment, &sets);
        let told: Vec<_> = states.iter().map(|state| (&*state.hash, &state.notes[..])).collect();
        assert_eq!(told, [("old", &["runs", "last good"][..]), ("new", &["failed"][..])]);
        assert_eq!(states[0].config.as_deref(), Some("llama-config-1"));
    }
}
