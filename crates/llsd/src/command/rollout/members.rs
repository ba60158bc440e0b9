//! The servers that a change of shared inputs has reached, as their Deployments tell it.

use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::ListParams;
use llsd_plan::live::LiveObject;
use llsd_plan::objects::{ObjectKind, labels};
use llsd_plan::resource::Key;
use llsd_plan::rollout::wave::Member;
use serde_json::Value;

use crate::command::cluster::Cluster;
use crate::command::cluster_error::ClusterError;

/// Those of the namespace, or of all.
pub(super) async fn of_cluster(
    cluster: &Cluster,
    everywhere: bool,
) -> Result<Vec<(Key, Member)>, ClusterError> {
    let api: Api<Deployment> = if everywhere {
        Api::all(cluster.client.clone())
    } else {
        Api::namespaced(cluster.client.clone(), &cluster.namespace)
    };
    let ours = format!("{}={}", labels::MANAGED_BY, labels::OPERATOR);
    let listed = api.list(&ListParams::default().labels(&ours)).await?;
    let now = cluster.clock.now().as_second();
    let deployments = listed.items.into_iter().map(serde_json::to_value).filter_map(Result::ok);
    Ok(deployments.filter_map(|deployment| member(&deployment, now)).collect())
}

fn member(deployment: &Value, now: i64) -> Option<(Key, Member)> {
    let (key, live) = LiveObject::parse(ObjectKind::Deployment, deployment)?;
    Some((key, Member::from_deployment(live.deployment()?, now)?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_deployment_tells_whether_a_shared_change_has_reached_its_server() {
        let of = |wave: &Value| {
            let deployment = json!({
                "metadata": {
                    "name": "a", "namespace": "team",
                    "annotations": {labels::WAVE: wave.to_string()},
                },
                "spec": {
                    "replicas": 1, "selector": {"matchLabels": {labels::INSTANCE: "a"}},
                },
                "status": {"replicas": 1, "updatedReplicas": 1, "availableReplicas": 1},
            });
            member(&deployment, 1000).map(|(key, member)| (key, member.has_failed()))
        };
        assert_eq!(of(&json!({"inputs": ["image=1"], "at": 10})), None, "it runs with it");
        let key = || Key::new("team", "a");
        assert_eq!(of(&json!({"inputs": ["image=1"], "at": 990})), Some((key(), false)));
        let failed = json!({"inputs": ["image=1"], "at": 10, "failed": true});
        assert_eq!(of(&failed), Some((key(), true)), "whatever its pods do by now");
    }
}
