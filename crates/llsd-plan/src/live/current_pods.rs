//! Which of a server's pods are of the template that its Deployment has now. While a change is rolled out the pods of
//! the template before are there, too; how those fare says nothing about the change.

use std::cmp::Reverse;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::objects::labels::POD_TEMPLATE_HASH;

/// The number that Kubernetes writes on each ReplicaSet of a Deployment. One that is taken up again gets the highest.
pub const REVISION: &str = "deployment.kubernetes.io/revision";

/// The hash of the template that a Deployment has now, by the ReplicaSets with its labels.
pub fn newest_template<'a>(
    replica_sets: impl IntoIterator<Item = &'a ObjectMeta>,
    deployment_uid: &str,
) -> Option<&'a str> {
    let is_own = |set: &&ObjectMeta| {
        set.owner_references.iter().flatten().any(|owner| owner.uid == deployment_uid)
    };
    let own = replica_sets.into_iter().filter(is_own);
    let revision = |set: &&ObjectMeta| {
        let written = set.annotations.as_ref().and_then(|all| all.get(REVISION));
        written.and_then(|written| written.parse::<u64>().ok())
    };
    hash(own.max_by_key(revision)?)
}

/// Those of the pods that are of this template, or all where none is named, newest first. Pods that are being
/// deleted or have ended are left out: others take their place.
pub fn current_pods(mut pods: Vec<Pod>, template: Option<&str>) -> Vec<Pod> {
    pods.retain(|pod| {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        pod.metadata.deletion_timestamp.is_none()
            && !matches!(phase, Some("Failed" | "Succeeded"))
            && template.is_none_or(|template| hash(&pod.metadata) == Some(template))
    });
    pods.sort_by_key(|pod| Reverse(pod.metadata.creation_timestamp.as_ref().map(|time| time.0)));
    pods
}

fn hash(metadata: &ObjectMeta) -> Option<&str> {
    metadata.labels.as_ref()?.get(POD_TEMPLATE_HASH).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn replica_set(hash: &str, revision: &str, owner: &str) -> ObjectMeta {
        let set = json!({
            "labels": {POD_TEMPLATE_HASH: hash}, "annotations": {REVISION: revision},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "llama", "uid": owner}],
        });
        serde_json::from_value(set).unwrap()
    }

    #[test]
    fn the_newest_template_is_the_one_of_the_highest_revision_and_not_of_the_youngest_replica_set()
    {
        let sets = [
            replica_set("failed", "9", "1"),
            replica_set("back", "10", "1"),
            replica_set("of-another-deployment", "11", "2"),
        ];
        assert_eq!(newest_template(&sets, "1"), Some("back"));
        assert_eq!(newest_template(&sets, "3"), None);
    }

    #[test]
    fn only_pods_of_the_newest_template_count_that_are_to_stay() {
        let pod = |name: &str, hash: &str, at: &str, rest: Value| {
            let mut pod = json!({
                "metadata": {
                    "name": name, "labels": {POD_TEMPLATE_HASH: hash},
                    "creationTimestamp": format!("2026-11-18T10:00:{at}Z"),
                },
                "status": {"phase": "Running"},
            });
            json_patch(&mut pod, rest);
            serde_json::from_value::<Pod>(pod).unwrap()
        };
        let pods = || {
            vec![
                pod("old", "a", "00", json!({})),
                pod("new-1", "b", "10", json!({})),
                pod("new-2", "b", "20", json!({})),
                pod("evicted", "b", "05", json!({"status": {"phase": "Failed"}})),
                pod(
                    "going",
                    "b",
                    "06",
                    json!({"metadata": {"deletionTimestamp": "2026-11-18T10:01:00Z"}}),
                ),
            ]
        };
        let names = |template: Option<&str>| {
            let current = current_pods(pods(), template);
            current.into_iter().map(|pod| pod.metadata.name.unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(names(Some("b")), ["new-2", "new-1"]);
        assert_eq!(names(None), ["new-2", "new-1", "old"]);
        assert!(names(Some("c")).is_empty(), "no pod of it was made yet");
    }

    /// Lays fields over others.
    fn json_patch(object: &mut Value, over: Value) {
        match (object, over) {
            (Value::Object(object), Value::Object(over)) => {
                for (key, value) in over {
                    json_patch(object.entry(key).or_insert(Value::Null), value);
                }
            }
            (object, over) => *object = over,
        }
    }
}
